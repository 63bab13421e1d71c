// The operations that compare: distances and losses.
#include "dynet_like/graph/recording.h"

#include <limits>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/special_formulas.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

using namespace recording;

namespace {

Expression hinge_along(const Expression& x, Numbers indices, unsigned d, float margin) {
  ComputationGraph& graph = graph_of("hinge", x);
  const Dim& dim = graph.tape().shape_of(x.i).dim;
  const unsigned lines = d < dim.nd ? dim.batch_size() / dim.d[d] : 1;
  const std::uint32_t attributes[] = {d, lines};
  const double real = static_cast<double>(margin);
  indices.reals = std::span(&real, 1);
  return unary(ops::hinge, x, attributes, indices);
}

// With l = logsumexp(x): (1 - s) (l - x[v]) + s (l - mean(x)).
template <class Classes>
Expression smoothed(const Expression& x, const Classes& v, float smoothing) {
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw UsageError("[cross_entropy] need a smoothing of 0 to 1; got " +
                     std::to_string(smoothing));
  }
  const Expression loss = pickneglogsoftmax(x, v);
  return smoothing == 0 ? loss : loss + smoothing * (pick(x, v) - mean_elems(x));
}

// Columns of length 1; those whose length is next to nothing are left as short as they are.
Expression direction(const Expression& x) {
  constexpr float kSmallest = 1e-12f;
  Dim lengths = x.dim();
  lengths.set(0, 1);
  return cdiv(x, reshape(max(reduce(ops::norm_dim, x, {0}), kSmallest), lengths));
}

}  // namespace

Expression cross_entropy(const Expression& x, unsigned v, float smoothing) {
  return smoothed(x, v, smoothing);
}
Expression cross_entropy(const Expression& x, IntegersAt v, float smoothing) {
  return smoothed(x, v, smoothing);
}
Expression cross_entropy(const Expression& x, const std::vector<unsigned>& v, float smoothing) {
  return smoothed(x, v, smoothing);
}
Expression log_softmax(const Expression& x, const std::vector<unsigned>& restriction) {
  ComputationGraph& graph = graph_of("log_softmax", x);
  if (restriction.empty()) {
    throw UsageError("[log_softmax] need at least one class; got none");
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const unsigned classes = graph.tape().shape_of(x.i).dim.rows();
  std::vector<float> most(classes, -kInfinity);
  for (unsigned allowed : restriction) {
    if (allowed >= classes) {
      throw UsageError("[log_softmax] need a class below " + std::to_string(classes) + "; got " +
                       std::to_string(allowed));
    }
    most[allowed] = kInfinity;
  }
  return log_softmax(min(x, input(graph, Dim({classes}), most)));
}

Expression hinge(const Expression& x, unsigned index, float margin) {
  return hinge_along(x, {std::span(&index, 1)}, 0, margin);
}
Expression hinge(const Expression& x, const std::vector<unsigned>& indices, float margin) {
  return hinge_along(x, {indices}, 0, margin);
}
Expression hinge(const Expression& x, IntegersAt indices, float margin) {
  return hinge_along(x, {{}, {}, indices}, 0, margin);
}
Expression hinge_dim(const Expression& x, const std::vector<unsigned>& indices, unsigned d,
                     float margin) {
  return hinge_along(x, {indices}, d, margin);
}
Expression hinge_dim(const Expression& x, IntegersAt indices, unsigned d, float margin) {
  return hinge_along(x, {{}, {}, indices}, d, margin);
}
Expression hinge_dim(const Expression& x, const std::vector<std::vector<unsigned>>& indices,
                     unsigned d, float margin) {
  return hinge_along(x, {IntegersAt(&indices).now()}, d, margin);
}

Expression l1_distance(const Expression& x, const Expression& y) { return sum_elems(abs(x - y)); }
Expression huber_distance(const Expression& x, const Expression& y, float c) {
  const Expression distance = abs(x - y);
  const Expression near = min(distance, constant(graph_of("huber_distance", x), Dim({1}), c));
  return sum_elems(0.5f * square(near) + c * (distance - near));
}
Expression binary_log_loss(const Expression& x, const Expression& y) {
  return sum_elems(binary(elementwise<formulas::BinaryLogLoss>, x, y));
}
Expression binary_cross_entropy_with_logits(const Expression& x, const Expression& y) {
  return sum_elems(binary(elementwise<formulas::LogitLoss>, x, y));
}
Expression kl_divergence(const Expression& log_p, const Expression& log_q) {
  return sum_elems(binary(elementwise<formulas::DivergenceTerm>, log_p, log_q));
}
Expression cosine_similarity(const Expression& x, const Expression& y) {
  return sum_dim(cmult(direction(x), direction(y)), {0});
}
Expression triplet_loss(const Expression& anchor, const Expression& positive,
                        const Expression& negative, float margin) {
  return rectify(squared_distance(anchor, positive) - squared_distance(anchor, negative) + margin);
}
Expression contrastive_loss(const Expression& x, const Expression& y, const Expression& same,
                            float margin) {
  const Expression distance = l2_norm(x - y);
  return cmult(same, square(distance)) +
         cmult(1.0f - same, square(rectify(margin - distance)));
}
Expression pairwise_rank_loss(const Expression& x, const Expression& y, float margin) {
  return rectify(margin - x + y);
}
Expression poisson_loss(const Expression& x, unsigned y) {
  return unary(ops::poisson_loss, x, {}, {std::span(&y, 1)});
}
Expression poisson_loss(const Expression& x, IntegersAt y) {
  return unary(ops::poisson_loss, x, {}, {{}, {}, y});
}
Expression sparsemax(const Expression& x) { return unary(ops::sparsemax, x); }
Expression sparsemax_loss(const Expression& x, const std::vector<unsigned>& target) {
  const auto count = static_cast<std::uint32_t>(target.size());
  return unary(ops::sparsemax_loss, x, std::span(&count, 1), {target});
}
Expression sparsemax_loss(const Expression& x, IntegersAt target) {
  const auto count = static_cast<std::uint32_t>(target.size());
  return unary(ops::sparsemax_loss, x, std::span(&count, 1), {{}, {}, target});
}
Expression constrained_softmax(const Expression& x, const Expression& y) {
  return binary(ops::constrained_softmax, x, y);
}

Expression trace_of_product(const Expression& x, const Expression& y) { return dot_product(x, y); }

}  // namespace dynet_like

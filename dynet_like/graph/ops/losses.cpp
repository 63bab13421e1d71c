// Losses, distances and similarities.
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/special_formulas.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

const Op hinge = [] {
  Op op = along_axis("hinge",
                     "the sum of max(0, m - x[i] + x[k]) over all k but i along a dimension, "
                     "which disappears",
                     Needs::inputs, cost_per_element<1>);
  op.batching.by_column = nullptr;  // every line has its own integer
  op.numbers.reals = 1;
  op.numbers.integer_count = [](Attributes attributes) {
    return attributes.size() == 2 ? attributes[1] : 0;
  };
  op.numbers.integer_limit = [](const Signature& type) {
    return type.inputs[0][type.attributes[0]];
  };
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("hinge", in, attributes, 2);
    const Dim result = without_axis(in, attributes);
    if (attributes[1] != result.size()) {
      throw_shape_error(
          "hinge",
          detail::counted(result.size(), "line") + ", not " + std::to_string(attributes[1]), in);
    }
    return result;
  };
  return op;
}();

const Op poisson_loss = [] {
  Op op;
  op.name = "poisson_loss";
  op.formula =
      "e^x - i x + ln i!, where 0 infinity = 0: -ln of the probability of i where the mean is e^x";
  op.numbers.integers = 1;
  op.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) {
    if (in[0].size() != 1) throw_shape_error("poisson_loss", "one element", in);
    return Dim({1});
  };
  op.cost = [](const Signature&) { return 60.0; };
  return op;
}();

std::span<const Op* const> loss_ops() {
  static const Op* const all[] = {&hinge, &poisson_loss};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

Expression hinge_along(const Expression& x, Numbers indices, unsigned d, float margin) {
  const Recorder graph = graph_of("hinge", x);
  const Dim& dim = graph.tape().shape_of(x.i).dim;
  const unsigned lines = d < dim.nd ? dim.batch_size() / dim.d[d] : 1;
  const std::uint32_t attributes[] = {d, lines};
  const double real = static_cast<double>(margin);
  indices.reals = std::span(&real, 1);
  return unary(ops::hinge, x, attributes, indices);
}

// Elementwise operations would stretch dimensions of size 1, which hides mistakes.
void check_equal_shapes(std::string_view user, const Expression& x, const Expression& y) {
  check_graph(user, std::array{x, y});
  const Dim a = x.dim(), b = y.dim();
  for (unsigned d = 0; d < Dim::kMaxDimensions; ++d) {
    if (a[d] != b[d]) refuse_shapes(user, "equal shapes", {x, y});
  }
}

// The sum over all elements.
Expression summed(std::string_view user, const Op& op, const Expression& x, const Expression& y) {
  check_equal_shapes(user, x, y);
  return sum_elems(binary(op, x, y));
}

// Every column divided by its length. A column of almost no length has no direction: it is divided
// by a huge number, so that its value and its gradient are close to 0.
Expression direction(const Expression& x) {
  constexpr float kSmallest = 1e-12f, kEndless = 1e30f;
  const Expression length = reduce(ops::norm_dim, x, {0});
  Dim dim = x.dim();
  dim.set(0, 1);
  return cdiv(x, reshape(length + less(length, kSmallest) * kEndless, dim));
}

}  // namespace

Expression hinge(const Expression& x, unsigned index, float margin) {
  return hinge_along(x, {std::span(&index, 1)}, 0, margin);
}
Expression hinge(const Expression& x, const std::vector<unsigned>& indices, float margin) {
  check_one_each("hinge", x, indices.size());
  return hinge_along(x, {indices}, 0, margin);
}
Expression hinge(const Expression& x, IntegersAt indices, float margin) {
  check_one_each("hinge", x, indices);
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
Expression l1_distance(const Expression& x, const Expression& y) {
  check_equal_shapes("l1_distance", x, y);
  return sum_elems(abs(x - y));
}
Expression huber_distance(const Expression& x, const Expression& y, float c) {
  check_equal_shapes("huber_distance", x, y);
  const Expression distance = abs(x - y);
  const Expression near =
      min(distance, constant(graph_of("huber_distance", distance), Dim({1}), c));
  return sum_elems(0.5f * square(near) + c * (distance - near));
}
Expression binary_log_loss(const Expression& x, const Expression& y) {
  return summed("binary_log_loss", ops::elementwise<ops::formulas::BinaryLogLoss>, x, y);
}
Expression binary_cross_entropy_with_logits(const Expression& x, const Expression& y) {
  return summed("binary_cross_entropy_with_logits", ops::elementwise<ops::formulas::LogitLoss>, x,
                y);
}
Expression kl_divergence(const Expression& log_p, const Expression& log_q) {
  return summed("kl_divergence", ops::elementwise<ops::formulas::DivergenceTerm>, log_p, log_q);
}
Expression cosine_similarity(const Expression& a, const Expression& b) {
  check_equal_shapes("cosine_similarity", a, b);
  const auto [x, y] = of_one_graph("cosine_similarity", a, b);
  return sum_dim(cmult(direction(x), direction(y)), {0});
}
Expression triplet_loss(const Expression& anchor, const Expression& positive,
                        const Expression& negative, float margin) {
  return relu(squared_distance(anchor, positive) - squared_distance(anchor, negative) + margin);
}
Expression contrastive_loss(const Expression& x, const Expression& y, const Expression& same,
                            float margin) {
  check_equal_shapes("contrastive_loss", x, y);
  if (same.dim().batch_size() != 1) {
    refuse_shapes("contrastive_loss", "one number that says whether two are the same", {same});
  }
  const Expression distance = l2_norm(x - y);
  return cmult(same, square(distance)) + cmult(1.0f - same, square(relu(margin - distance)));
}
Expression pairwise_rank_loss(const Expression& x, const Expression& y, float margin) {
  return relu(margin - x + y);
}
Expression poisson_loss(const Expression& x, unsigned y) {
  return unary(ops::poisson_loss, x, {}, {std::span(&y, 1)});
}
Expression poisson_loss(const Expression& x, IntegersAt y) {
  check_one_each("poisson_loss", x, y);
  return unary(ops::poisson_loss, x, {}, {{}, {}, y});
}

}  // namespace dynet_like

// The operations that sum up: over inputs, dimensions and minibatches; softmax and its loss.
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

using namespace recording;

namespace {

// Long sums are made of short ones, so that sums of different lengths have the same few types and
// run together: a minibatch of trees rarely has two with the same number of losses.
constexpr std::size_t kGroup = 4;

Expression sum_in_groups(std::span<const Expression> xs) {
  ComputationGraph& graph = graph_of(ops::sum.name, xs);
  if (xs.size() == 1) return xs[0];
  Tape& tape = graph.tape();
  Values values(xs);
  std::span<ValueId> left = values.all();
  while (left.size() > kGroup) {
    std::size_t groups = 0;
    for (std::size_t begin = 0; begin < left.size(); begin += kGroup) {
      const auto group = left.subspan(begin, std::min(kGroup, left.size() - begin));
      left[groups++] = group.size() == 1 ? group[0] : tape.add(ops::sum, group);
    }
    left = left.first(groups);
  }
  return graph.expression(tape.add(ops::sum, left));
}

Expression average_of(std::span<const Expression> xs) {
  if (xs.size() == 1) return sum_in_groups(xs);
  if (xs.size() <= kGroup) return many(ops::average, xs);
  return sum_in_groups(xs) / static_cast<float>(xs.size());
}

// The expressions become columns; theirs is the shape of the result.
Expression logsumexp_of(std::span<const Expression> xs) {
  graph_of("logsumexp", xs);
  const Dim dim = xs[0].dim().single_batch();
  std::vector<Expression> columns;
  for (const Expression& x : xs) {
    if (x.dim().single_batch() != dim) {
      refuse_shapes("logsumexp", "equal shapes but for the minibatch", {xs[0], x});
    }
    columns.push_back(reshape(x, Dim({dim.size()}, x.dim().bd)));
  }
  const Expression result = logsumexp_dim(concatenate_cols(columns), 1);
  Dim of_result = dim;
  of_result.bd = result.dim().bd;
  return reshape(result, of_result);
}

Expression over_all(const Op& op, const Expression& x, const std::vector<unsigned>& dimensions,
                    bool batches) {
  const Expression result = reduce(op, x, dimensions);
  return batches ? reduce_batches(op, result) : result;
}

}  // namespace

// The last dimension first: the others keep their number.
Expression recording::reduce(const Op& op, const Expression& x, std::vector<unsigned> dimensions) {
  std::sort(dimensions.rbegin(), dimensions.rend());
  if (std::adjacent_find(dimensions.begin(), dimensions.end()) != dimensions.end()) {
    throw UsageError("[" + std::string(op.name) + "] need every dimension once; got dimension " +
                     std::to_string(*std::adjacent_find(dimensions.begin(), dimensions.end())) +
                     " twice");
  }
  Expression result = x;
  for (unsigned d : dimensions) result = unary(op, result, std::span(&d, 1));
  return result;
}

// The minibatch is one more dimension of a single value. A norm of one number is its magnitude.
Expression recording::reduce_batches(const Op& op, const Expression& x) {
  const Dim dim = x.dim();
  if (dim.bd == 1 && (&op == &ops::sum_dim || &op == &ops::mean_dim)) return x;
  const Expression columns = reshape(x, Dim({dim.batch_size(), dim.bd}));
  const unsigned last = 1;
  return reshape(unary(op, columns, std::span(&last, 1)), dim.single_batch());
}

Expression recording::reduce_elements(const Op& op, const Expression& x) {
  const Dim dim = x.dim();
  const unsigned first = 0;
  return unary(op, reshape(x, Dim({dim.batch_size()}, dim.bd)), std::span(&first, 1));
}

Expression sum(Expressions xs) { return sum_in_groups(xs); }
Expression average(Expressions xs) { return average_of(xs); }
Expression sum_elems(const Expression& x) { return reduce_elements(ops::sum_dim, x); }
Expression mean_elems(const Expression& x) { return reduce_elements(ops::mean_dim, x); }
Expression sum_dim(const Expression& x, const std::vector<unsigned>& dimensions, bool batches) {
  return over_all(ops::sum_dim, x, dimensions, batches);
}
Expression mean_dim(const Expression& x, const std::vector<unsigned>& dimensions, bool batches) {
  return over_all(ops::mean_dim, x, dimensions, batches);
}
Expression sum_batches(const Expression& x) { return reduce_batches(ops::sum_dim, x); }
Expression mean_batches(const Expression& x) { return reduce_batches(ops::mean_dim, x); }

Expression max_dim(const Expression& x, unsigned d) {
  return unary(ops::max_dim, x, std::span(&d, 1));
}
Expression min_dim(const Expression& x, unsigned d) { return -max_dim(-x, d); }
Expression argmax(const Expression& x, GradientMode mode) {
  const unsigned d = 0;
  const bool passes = mode == GradientMode::straight_through_gradient;
  return unary(ops::argmax, passes ? x : nobackprop(x), std::span(&d, 1));
}
Expression cumsum(const Expression& x, unsigned d) {
  return unary(ops::cumsum, x, std::span(&d, 1));
}
Expression kmax_pooling(const Expression& x, unsigned k, unsigned d) {
  const std::uint32_t attributes[] = {d, k};
  return unary(ops::kmax_pooling, x, attributes);
}
Expression logsumexp_dim(const Expression& x, unsigned d) {
  return unary(ops::logsumexp_dim, x, std::span(&d, 1));
}
Expression logsumexp(Expressions xs) { return logsumexp_of(xs); }

Expression softmax(const Expression& x, unsigned d) {
  return unary(ops::softmax, x, std::span(&d, 1));
}
Expression log_softmax(const Expression& x, unsigned d) {
  return unary(ops::log_softmax, x, std::span(&d, 1));
}
Expression pickneglogsoftmax(const Expression& x, unsigned v) {
  return unary(ops::pickneglogsoftmax, x, {}, {std::span(&v, 1)});
}
Expression pickneglogsoftmax(const Expression& x, IntegersAt v) {
  return unary(ops::pickneglogsoftmax, x, {}, {{}, {}, v});
}
Expression pickneglogsoftmax(const Expression& x, const std::vector<unsigned>& v) {
  return unary(ops::pickneglogsoftmax, x, {}, {v});
}

}  // namespace dynet_like

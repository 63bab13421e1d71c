// Sums and means: over inputs, dimensions, minibatches.
#include "dynet_like/graph/recording.h"

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

namespace {

Op sum_of_inputs(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.max_inputs = Op::kAnyNumber;
  op.gradient.needs = Needs::nothing;
  op.batching.by_column = [](unsigned, unsigned, Attributes) { return true; };
  op.cost = [](const Signature& type) { return double(type.inputs.size() * type.output_size); };
  return op;
}

Dim same_shapes(std::string_view op, Inputs in) {
  for (const Dim& dim : in.subspan(1)) {
    if (dim != in[0]) throw_shape_error(op, "equal shapes", in);
  }
  return in[0];
}

Dim reduced_shape(std::string_view op, Inputs in, Attributes attributes) {
  check_axis(op, in, attributes);
  return without_axis(in, attributes);
}

}  // namespace

const Op sum = [] {
  Op op = sum_of_inputs("sum", "x1 + x2 + ..., from left to right");
  op.shape = [](Inputs in, Attributes) { return same_shapes("sum", in); };
  op.gradient.shared = [](const Signature&, unsigned) { return SharedGradient::sum; };
  return op;
}();

const Op average = [] {
  Op op = sum_of_inputs("average", "(x1 + x2 + ... + xn) / n");
  op.shape = [](Inputs in, Attributes) { return same_shapes("average", in); };
  return op;
}();

const Op sum_dim = [] {
  Op op = along_axis("sum_dim", "the sum along a dimension, which disappears", Needs::nothing,
                     cost_per_element<1>);
  op.shape = [](Inputs in, Attributes a) { return reduced_shape("sum_dim", in, a); };
  return op;
}();

const Op mean_dim = [] {
  Op op = along_axis("mean_dim", "the mean along a dimension, which disappears", Needs::nothing,
                     cost_per_element<1>);
  op.shape = [](Inputs in, Attributes a) { return reduced_shape("mean_dim", in, a); };
  return op;
}();

std::span<const Op* const> reduction_ops() {
  static const Op* const all[] = {&sum, &average, &sum_dim, &mean_dim};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

// Long sums consist of short ones, so that sums of different lengths use the same few types and run
// together: trees of a minibatch rarely have equally many losses.
constexpr std::size_t kGroup = 4;

Expression sum_in_groups(std::span<const Expression> xs) {
  const Recorder graph = graph_of(ops::sum.name, xs);
  if (xs.size() == 1) return xs[0];
  TapeWriter& writer = graph.writer();
  Values values(graph, xs);
  std::span<ValueId> left = values.all();
  while (left.size() > kGroup) {
    std::size_t groups = 0;
    for (std::size_t begin = 0; begin < left.size(); begin += kGroup) {
      const auto group = left.subspan(begin, std::min(kGroup, left.size() - begin));
      left[groups++] = group.size() == 1 ? group[0] : writer.add(ops::sum, group);
    }
    left = left.first(groups);
  }
  return graph.expression(writer.add(ops::sum, left));
}

Expression average_of(std::span<const Expression> xs) {
  if (xs.size() == 1) return sum_in_groups(xs);
  if (xs.size() <= kGroup) return many(ops::average, xs);
  return sum_in_groups(xs) / static_cast<float>(xs.size());
}

Expression over_all(const Op& op, const Expression& x, const std::vector<unsigned>& dimensions,
                    bool batches) {
  const Expression result = reduce(op, x, dimensions);
  return batches ? reduce_batches(op, result) : result;
}

}  // namespace

// Reduces the last dimension first, so that the others keep their numbers.
Expression detail::recording::reduce(const Op& op, const Expression& x,
                                     std::vector<unsigned> dimensions) {
  std::sort(dimensions.rbegin(), dimensions.rend());
  if (std::adjacent_find(dimensions.begin(), dimensions.end()) != dimensions.end()) {
    throw UsageError("[" + std::string(op.name) + "] need every dimension once; got dimension " +
                     std::to_string(*std::adjacent_find(dimensions.begin(), dimensions.end())) +
                     " twice" + labels_of(x));
  }
  Expression result = x;
  for (unsigned d : dimensions) result = unary(op, result, std::span(&d, 1));
  return result;
}
// Treats the minibatch as one more dimension. A sum or mean of one element is that element; a norm
// is not.
Expression detail::recording::reduce_batches(const Op& op, const Expression& x) {
  const Dim dim = x.dim();
  if (dim.bd == 1 && (&op == &ops::sum_dim || &op == &ops::mean_dim)) return x;
  const Expression columns = reshape(x, Dim({dim.batch_size(), dim.bd}));
  if (&op == &ops::sum_dim) {
    // A segment, so that minibatches of any size have one type: samples have a loss for each word.
    const std::uint32_t segment[] = {dim.bd, 0, dim.bd};  // of all columns
    return reshape(unary(ops::segment_sum, columns, {}, {segment}), dim.single_batch());
  }
  const unsigned last = 1;
  return reshape(unary(op, columns, std::span(&last, 1)), dim.single_batch());
}
Expression detail::recording::reduce_elements(const Op& op, const Expression& x) {
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

}  // namespace dynet_like

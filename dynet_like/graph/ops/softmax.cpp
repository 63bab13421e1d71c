// Softmax, its logarithm, and cross-entropy.
#include "dynet_like/graph/recording.h"

#include <limits>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

namespace {

Op softmax_like(std::string_view name, std::string_view formula) {
  return along_axis(name, formula, Needs::output, cost_per_element<8>);
}

}  // namespace

const Op softmax = [] {
  Op op = softmax_like("softmax",
                       "e^(x - max) / sum e^(x - max), along a dimension, the first unless another "
                       "is given");
  op.shape = [](Inputs in, Attributes a) {
    check_axis("softmax", in, a);
    return in[0];
  };
  return op;
}();

const Op log_softmax = [] {
  Op op =
      softmax_like("log_softmax",
                   "(x - max) - log sum e^(x - max), along a dimension, the first unless another "
                   "is given");
  op.shape = [](Inputs in, Attributes a) {
    check_axis("log_softmax", in, a);
    return in[0];
  };
  return op;
}();

const Op cross_entropy = [] {
  Op op;
  op.name = "cross_entropy";
  op.formula = "(max - x[i]) + log sum e^(x - max)";
  op.gradient.needs = Needs::inputs;
  op.numbers.integers = 1;
  op.numbers.integer_limit = [](const Signature& type) { return type.inputs[0].rows(); };
  op.gradient.saved_size = [](const Signature&) -> std::size_t { return 2; };
  op.shape = [](Inputs in, Attributes) {
    if (in[0].size() != in[0].rows()) {
      throw_shape_error("cross_entropy", "a vector, or a class for each column of a matrix", in);
    }
    return Dim({1});
  };
  op.cost = [](const Signature& type) { return 8.0 * type.inputs[0].size(); };
  return op;
}();

// Every column of the result is an item of the node. So neither the number of columns nor that of
// segments is part of the type.
const Op segment_softmax = [] {
  Op op;
  op.name = "segment_softmax";
  op.formula =
      "a column of e^(x - max) / sum e^(x - max), along some columns that follow one another";
  op.batching.open_inputs = 1;
  op.batching.shareable = false;
  op.numbers.integers = 4;
  op.shape = [](Inputs in, Attributes attributes) {
    if (in[0].nd != 2 || in[0].rows() == 0 || !attributes.empty()) {
      throw_shape_error("segment_softmax", "a matrix {n, k} and no attributes", in);
    }
    return Dim({in[0].rows()});
  };
  op.cost = [](const Signature& type) { return 8.0 * static_cast<double>(type.output_size); };
  return op;
}();

std::span<const Op* const> softmax_ops() {
  static const Op* const all[] = {&softmax, &log_softmax, &cross_entropy, &segment_softmax};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

// Makes columns of scores minibatch elements if there is a class for each column.
Expression by_element(const Expression& x, std::size_t classes) {
  const Dim dim = x.dim();
  if (dim.nd != 2) return x;
  const unsigned columns = dim.cols() * dim.bd;
  if (classes != columns) {
    refuse_shapes("cross_entropy",
                  "a class for each of " + detail::counted(columns, "column") + ", not " +
                      std::to_string(classes),
                  {x});
  }
  return reshape(x, Dim({dim.rows()}, columns));
}

// With l = logsumexp(x) and smoothing s: (1 - s) (l - x[right]) + s (l - mean(x)).
template <class Classes>
Expression negative_log_likelihood(const Expression& x, const Classes& right,
                                   const Numbers& numbers, float smoothing) {
  if (!(smoothing >= 0 && smoothing <= 1)) {
    throw UsageError("[cross_entropy] need a smoothing of 0 to 1; got " +
                     std::to_string(smoothing) + labels_of(x));
  }
  const Expression loss = unary(ops::cross_entropy, x, {}, numbers);
  return smoothing == 0 ? loss : loss + smoothing * (pick(x, right) - mean_elems(x));
}

}  // namespace

Expression softmax(const Expression& x, unsigned d) {
  return unary(ops::softmax, x, std::span(&d, 1));
}
Expression log_softmax(const Expression& x, unsigned d) {
  return unary(ops::log_softmax, x, std::span(&d, 1));
}
Expression cross_entropy(const Expression& x, unsigned right, float smoothing) {
  return negative_log_likelihood(x, right, {std::span(&right, 1)}, smoothing);
}
Expression cross_entropy(const Expression& scores, IntegersAt right, float smoothing) {
  const Expression x = by_element(scores, right.size());
  check_one_each("cross_entropy", x, right);
  return negative_log_likelihood(x, right, {{}, {}, right}, smoothing);
}
Expression cross_entropy(const Expression& scores, const std::vector<unsigned>& right,
                         float smoothing) {
  const Expression x = by_element(scores, right.size());
  check_one_each("cross_entropy", x, right.size());
  return negative_log_likelihood(x, right, {right}, smoothing);
}
Expression log_softmax(const Expression& x, const std::vector<unsigned>& restriction) {
  const Recorder graph = graph_of("log_softmax", x);
  if (restriction.empty()) {
    throw UsageError("[log_softmax] need at least one class; got none" + labels_of(x));
  }
  const unsigned classes = graph.tape().shape_of(x.i).dim.rows();
  for (const unsigned allowed : restriction) {
    if (allowed >= classes) {
      throw UsageError("[log_softmax] need a class below " + std::to_string(classes) + "; got " +
                       detail::index_text(allowed) + labels_of(x));
    }
  }
  return log_softmax(fill_other_rows(x, restriction, -std::numeric_limits<float>::infinity()));
}

}  // namespace dynet_like

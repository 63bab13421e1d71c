// Ops along one dimension: extremes, running sums, logarithms of sums.
#include "dynet_like/graph/recording.h"

#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

const Op max_dim = [] {
  Op op = along_axis("max_dim",
                     "the largest element along a dimension, which disappears; the gradient "
                     "goes to the first of equal ones",
                     Needs::inputs, cost_per_element<1>);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("max_dim", in, attributes);
    return without_axis(in, attributes);
  };
  return op;
}();

const Op argmax = [] {
  Op op = along_axis("argmax",
                     "1 at the first of the largest elements along a dimension, else 0; its "
                     "gradient is passed on as it is",
                     Needs::nothing, cost_per_element<1>);
  op.gradient.is_derivative = false;
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("argmax", in, attributes);
    return in[0];
  };
  return op;
}();

const Op cumsum = [] {
  Op op = along_axis("cumsum", "x1, x1 + x2, x1 + x2 + x3, ... along a dimension", Needs::nothing,
                     cost_per_element<1>);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("cumsum", in, attributes);
    return in[0];
  };
  return op;
}();

const Op logsumexp_dim = [] {
  Op op =
      along_axis("logsumexp_dim", "max + ln sum e^(x - max) along a dimension, which disappears",
                 Needs::inputs, cost_per_element<20>);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("logsumexp_dim", in, attributes);
    return without_axis(in, attributes);
  };
  return op;
}();

std::span<const Op* const> dimension_ops() {
  static const Op* const all[] = {&max_dim, &argmax, &cumsum, &logsumexp_dim};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

// The expressions become columns; the result has the shape of one of them.
Expression logsumexp_of(std::span<const Expression> all) {
  const std::vector<Expression> xs = of_one_graph("logsumexp", all);
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

}  // namespace

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
Expression logsumexp_dim(const Expression& x, unsigned d) {
  return unary(ops::logsumexp_dim, x, std::span(&d, 1));
}
Expression logsumexp(Expressions xs) { return logsumexp_of(xs); }

}  // namespace dynet_like

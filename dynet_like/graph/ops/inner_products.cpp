// Sums of products and of squared differences.
#include "dynet_like/graph/recording.h"

#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

namespace {

Dim scalar_of_equal_shapes(std::string_view op, Inputs in) {
  if (in[0] != in[1]) throw_shape_error(op, "equal shapes", in);
  return Dim({1});
}

Op scalar_product(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.min_inputs = op.max_inputs = 2;
  op.gradient.needs = Needs::inputs;
  op.cost = [](const Signature& type) { return 2.0 * type.inputs[0].size(); };
  return op;
}

}  // namespace

const Op dot_product = [] {
  Op op = scalar_product("dot_product", "the sum of all a * b");
  op.shape = [](Inputs in, Attributes) { return scalar_of_equal_shapes("dot_product", in); };
  return op;
}();

const Op squared_distance = [] {
  Op op = scalar_product("squared_distance", "the sum of all (a - b)^2");
  op.shape = [](Inputs in, Attributes) { return scalar_of_equal_shapes("squared_distance", in); };
  return op;
}();

std::span<const Op* const> inner_product_ops() {
  static const Op* const all[] = {&dot_product, &squared_distance};
  return all;
}

}  // namespace ops

using namespace detail::recording;

Expression dot_product(const Expression& a, const Expression& b) {
  return binary(ops::dot_product, a, b);
}
Expression squared_distance(const Expression& a, const Expression& b) {
  return binary(ops::squared_distance, a, b);
}
Expression trace_of_product(const Expression& x, const Expression& y) { return dot_product(x, y); }

}  // namespace dynet_like

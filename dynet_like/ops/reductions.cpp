// Ops that add up: over inputs, over a dimension, and the softmax family.
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::ops {

namespace {

Op sum_of_inputs(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.max_inputs = Op::kAnyNumber;
  op.needs = Needs::nothing;
  op.cost = [](const Signature& type) { return double(type.inputs.size() * type.output_size); };
  op.cases = [] {
    return std::vector<OpCase>{{{Dim({5})}},
                               {{Dim({33}), Dim({33}), Dim({33})}},
                               {{Dim({3, 4}), Dim({3, 4})}},
                               {{Dim({1}), Dim({1}), Dim({1}), Dim({1})}}};
  };
  op.bad_cases = [] { return std::vector<OpCase>{{{Dim({3}), Dim({3}), Dim({4})}}}; };
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

Op softmax_like(std::string_view name, std::string_view formula) {
  return along_axis(name, formula, Needs::output, cost_per_element<8>);
}

}  // namespace

const Op sum = [] {
  Op op = sum_of_inputs("sum", "x1 + x2 + ..., from left to right");
  op.shape = [](Inputs in, Attributes) { return same_shapes("sum", in); };
  op.shared_gradient = [](const Signature&, unsigned) { return SharedGradient::sum; };
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

const Op softmax = [] {
  Op op = softmax_like("softmax", "e^(x - max) / sum e^(x - max), along a dimension");
  op.shape = [](Inputs in, Attributes a) {
    check_axis("softmax", in, a);
    return in[0];
  };
  return op;
}();

const Op log_softmax = [] {
  Op op = softmax_like("log_softmax", "(x - max) - log sum e^(x - max), along a dimension");
  op.shape = [](Inputs in, Attributes a) {
    check_axis("log_softmax", in, a);
    return in[0];
  };
  return op;
}();

const Op pickneglogsoftmax = [] {
  Op op;
  op.name = "pickneglogsoftmax";
  op.formula = "(max - x[i]) + log sum e^(x - max)";
  op.needs = Needs::inputs;
  op.integers_per_item = 1;
  op.integer_limit = [](const Signature& type) { return type.inputs[0].rows(); };
  op.saved_size = [](const Signature&) -> std::size_t { return 2; };
  op.shape = [](Inputs in, Attributes) {
    if (in[0].size() != in[0].rows()) throw_shape_error("pickneglogsoftmax", "a vector", in);
    return Dim({1});
  };
  op.cost = [](const Signature& type) { return 8.0 * type.inputs[0].size(); };
  op.cases = [] {
    return std::vector<OpCase>{{{Dim({2})}}, {{Dim({5})}}, {{Dim({16})}}, {{Dim({71})}}};
  };
  op.bad_cases = [] { return std::vector<OpCase>{{{Dim({3, 4})}}}; };
  return op;
}();

const Op dropout = [] {
  Op op;
  op.name = "dropout";
  op.formula = "0 with probability p, else x / (1 - p) (Srivastava et al. 2014)";
  op.needs = Needs::nothing;
  op.integers_per_item = 3;
  op.reals_per_item = 1;
  op.random = true;
  op.shareable = false;
  op.shape = [](Inputs in, Attributes) { return in[0]; };
  op.cost = [](const Signature& type) { return 10.0 * type.output_size; };
  op.cases = [] {
    return std::vector<OpCase>{
        {{Dim({5})}, {}, {0.5}}, {{Dim({34})}, {}, {0.2}}, {{Dim({3, 7})}, {}, {0.9}}};
  };
  return op;
}();

}  // namespace dynet_like::ops

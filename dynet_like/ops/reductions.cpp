// Ops that add up: over inputs, over a dimension, and the softmax family.
#include "dynet_like/ops/structured.h"

namespace dynet_like::ops {

namespace {

using Inputs = std::span<const Dim>;
using Attributes = std::span<const std::uint32_t>;

Op sum_of_inputs(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.max_inputs = Op::kAnyNumber;
  op.needs = Needs::nothing;
  op.by_column = [](unsigned, unsigned, Attributes) { return true; };
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

void check_axis(std::string_view op, Inputs in, Attributes attributes) {
  if (attributes.size() != 1) {
    throw_shape_error(op, "one dimension, not " + std::to_string(attributes.size()), in);
  }
  if (attributes[0] >= in[0].nd) {
    throw_shape_error(op, "an existing dimension, not dimension " + std::to_string(attributes[0]),
                      in);
  }
}

Dim reduced_shape(std::string_view op, Inputs in, Attributes attributes) {
  check_axis(op, in, attributes);
  Dim result = in[0];
  result.delete_dim(attributes[0]);
  return result;
}

std::vector<OpCase> axis_cases() {
  return {{{Dim({5})}, {0}},    {{Dim({37})}, {0}},    {{Dim({5, 3})}, {0}},
          {{Dim({5, 3})}, {1}}, {{Dim({19, 6})}, {1}}, {{Dim({2, 3, 4})}, {1}}};
}

Op over_dimension(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.needs = Needs::nothing;
  op.by_column = [](unsigned, unsigned rank, Attributes a) {
    return a.size() == 1 && a[0] + 1 < rank;
  };
  op.cost = [](const Signature& type) { return double(type.inputs[0].size()); };
  op.cases = axis_cases;
  op.bad_cases = [] {
    return std::vector<OpCase>{{{Dim({5})}, {1}}, {{Dim({5})}}, {{Dim({5, 3})}, {0, 1}}};
  };
  return op;
}

Op softmax_like(std::string_view name, std::string_view formula) {
  Op op = over_dimension(name, formula);
  op.needs = Needs::output;
  op.cost = [](const Signature& type) { return 8.0 * type.inputs[0].size(); };
  return op;
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
  Op op = over_dimension("sum_dim", "the sum along a dimension, which disappears");
  op.shape = [](Inputs in, Attributes a) { return reduced_shape("sum_dim", in, a); };
  return op;
}();

const Op mean_dim = [] {
  Op op = over_dimension("mean_dim", "the mean along a dimension, which disappears");
  op.shape = [](Inputs in, Attributes a) { return reduced_shape("mean_dim", in, a); };
  return op;
}();

const Op norm_dim = [] {
  Op op = over_dimension("norm_dim",
                         "sqrt(x1^2 + x2^2 + ...) along a dimension, which disappears; dy/dx = x / "
                         "y, but 0 at 0");
  op.needs = Needs::inputs_and_output;
  op.shape = [](Inputs in, Attributes a) { return reduced_shape("norm_dim", in, a); };
  return op;
}();

const Op rms_dim = [] {
  Op op = over_dimension("rms_dim",
                         "sqrt((x1^2 + ... + xn^2) / n) along a dimension, which disappears; dy/dx "
                         "= x / (n y), but 0 at 0");
  op.needs = Needs::inputs_and_output;
  op.shape = [](Inputs in, Attributes a) { return reduced_shape("rms_dim", in, a); };
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
  op.by_column = [](unsigned, unsigned, Attributes) { return true; };
  op.shape = [](Inputs in, Attributes) { return in[0]; };
  op.cost = [](const Signature& type) { return 10.0 * type.output_size; };
  op.cases = [] {
    return std::vector<OpCase>{
        {{Dim({5})}, {}, {0.5}}, {{Dim({34})}, {}, {0.2}}, {{Dim({3, 7})}, {}, {0.9}}};
  };
  return op;
}();

}  // namespace dynet_like::ops

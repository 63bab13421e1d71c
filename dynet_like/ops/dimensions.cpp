// Ops along one dimension: extremes, running sums, logarithms of sums, chosen elements.
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like::ops {

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
  op.is_derivative = false;
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

const Op select = [] {
  Op op = along_axis("select", "elements i1, i2, ... along a dimension", Needs::nothing,
                     cost_per_element<1>);
  op.integer_count = [](Attributes attributes) {
    return attributes.size() == 2 ? attributes[1] : 0;
  };
  op.integer_limit = [](const Signature& type) { return type.inputs[0][type.attributes[0]]; };
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("select", in, attributes, 2);
    if (attributes[1] == 0) throw_shape_error("select", "at least one element", in);
    return with_axis(in, attributes, attributes[1]);
  };
  op.cases = [] {
    return std::vector<OpCase>{{{Dim({5})}, {0, 3}},
                               {{Dim({5, 3})}, {0, 7}},
                               {{Dim({5, 3})}, {1, 2}},
                               {{Dim({2, 3, 4})}, {1, 1}}};
  };
  op.bad_cases = [] {
    return std::vector<OpCase>{{{Dim({5})}, {1, 2}}, {{Dim({5})}, {0}}, {{Dim({5})}, {0, 0}}};
  };
  return op;
}();

const Op kmax_pooling = [] {
  Op op = along_axis("kmax_pooling",
                     "the k largest elements along a dimension, in their order; of equal ones "
                     "the first",
                     Needs::inputs, cost_per_element<20>);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("kmax_pooling", in, attributes, 2);
    const unsigned size = in[0][attributes[0]];
    if (attributes[1] == 0 || attributes[1] > size) {
      throw_shape_error(
          "kmax_pooling",
          "1 to " + std::to_string(size) + " elements, not " + std::to_string(attributes[1]), in);
    }
    return with_axis(in, attributes, attributes[1]);
  };
  op.cases = [] {
    return std::vector<OpCase>{{{Dim({7})}, {0, 3}},
                               {{Dim({5, 3})}, {0, 5}},
                               {{Dim({5, 3})}, {1, 1}},
                               {{Dim({2, 6, 4})}, {1, 2}}};
  };
  op.bad_cases = [] {
    return std::vector<OpCase>{{{Dim({5})}, {1, 2}}, {{Dim({5})}, {0}}, {{Dim({5})}, {0, 6}}};
  };
  return op;
}();

const Op hinge = [] {
  Op op = along_axis("hinge",
                     "the sum of max(0, m - x[i] + x[k]) over all k but i along a dimension, "
                     "which disappears",
                     Needs::inputs, cost_per_element<1>);
  op.reals_per_item = 1;
  op.integer_count = [](Attributes attributes) {
    return attributes.size() == 2 ? attributes[1] : 0;
  };
  op.integer_limit = [](const Signature& type) { return type.inputs[0][type.attributes[0]]; };
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("hinge", in, attributes, 2);
    const Dim result = without_axis(in, attributes);
    if (attributes[1] != result.size()) {
      throw_shape_error(
          "hinge", std::to_string(result.size()) + " lines, not " + std::to_string(attributes[1]),
          in);
    }
    return result;
  };
  op.cases = [] {
    return std::vector<OpCase>{{{Dim({7})}, {0, 1}, {1.0}},
                               {{Dim({5, 3})}, {0, 3}, {0.5}},
                               {{Dim({5, 3})}, {1, 5}, {1.0}}};
  };
  op.bad_cases = [] {
    return std::vector<OpCase>{
        {{Dim({5})}, {1, 1}, {1.0}}, {{Dim({5})}, {0}, {1.0}}, {{Dim({5, 3})}, {0, 2}, {1.0}}};
  };
  return op;
}();

}  // namespace dynet_like::ops

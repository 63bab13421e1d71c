// Ops along one dimension: extremes, running sums, logarithms of sums, chosen elements.
#include "dynet_like/ops/structured.h"

namespace dynet_like::ops {

namespace {

using Inputs = std::span<const Dim>;
using Attributes = std::span<const std::uint32_t>;

void check_axis(std::string_view op, Inputs in, Attributes attributes, std::size_t count) {
  if (attributes.size() != count) {
    throw_shape_error(op,
                      std::to_string(count) + " attributes, the first of them a dimension, not " +
                          std::to_string(attributes.size()),
                      in);
  }
  if (attributes[0] >= in[0].nd) {
    throw_shape_error(op, "an existing dimension, not dimension " + std::to_string(attributes[0]),
                      in);
  }
}

Dim without(const Dim& dim, unsigned d) {
  Dim result = dim;
  result.delete_dim(d);
  return result;
}

Op along_dimension(std::string_view name, std::string_view formula, Needs needs, double cost) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.needs = needs;
  op.cases = [] {
    return std::vector<OpCase>{{{Dim({5})}, {0}},
                               {{Dim({37})}, {0}},
                               {{Dim({5, 3})}, {0}},
                               {{Dim({5, 3})}, {1}},
                               {{Dim({2, 3, 4})}, {1}}};
  };
  op.bad_cases = [] {
    return std::vector<OpCase>{{{Dim({5})}, {1}}, {{Dim({5})}}, {{Dim({5, 3})}, {0, 1}}};
  };
  op.cost = cost == 1 ? [](const Signature& type) { return 1.0 * type.inputs[0].size(); }
                      : [](const Signature& type) { return 20.0 * type.inputs[0].size(); };
  return op;
}

}  // namespace

const Op max_dim = [] {
  Op op = along_dimension("max_dim",
                          "the largest element along a dimension, which disappears; the gradient "
                          "goes to the first of equal ones",
                          Needs::inputs, 1);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("max_dim", in, attributes, 1);
    return without(in[0], attributes[0]);
  };
  return op;
}();

const Op argmax = [] {
  Op op = along_dimension("argmax",
                          "1 at the first of the largest elements along a dimension, else 0; its "
                          "gradient is passed on as it is",
                          Needs::nothing, 1);
  op.is_derivative = false;
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("argmax", in, attributes, 1);
    return in[0];
  };
  return op;
}();

const Op cumsum = [] {
  Op op = along_dimension("cumsum", "x1, x1 + x2, x1 + x2 + x3, ... along a dimension",
                          Needs::nothing, 1);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("cumsum", in, attributes, 1);
    return in[0];
  };
  return op;
}();

const Op logsumexp_dim = [] {
  Op op = along_dimension("logsumexp_dim",
                          "max + ln sum e^(x - max) along a dimension, which disappears",
                          Needs::inputs, 20);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("logsumexp_dim", in, attributes, 1);
    return without(in[0], attributes[0]);
  };
  return op;
}();

const Op select = [] {
  Op op = along_dimension("select", "elements i1, i2, ... along a dimension", Needs::nothing, 1);
  op.integer_count = [](Attributes attributes) {
    return attributes.size() == 2 ? attributes[1] : 0;
  };
  op.integer_limit = [](const Signature& type) { return type.inputs[0][type.attributes[0]]; };
  op.by_column = [](unsigned, unsigned rank, Attributes a) {
    return a.size() == 2 && a[0] + 1 < rank;
  };
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("select", in, attributes, 2);
    if (attributes[1] == 0) throw_shape_error("select", "at least one element", in);
    Dim result = in[0];
    result.d[attributes[0]] = attributes[1];
    return result;
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
  Op op = along_dimension("kmax_pooling",
                          "the k largest elements along a dimension, in their order; of equal ones "
                          "the first",
                          Needs::inputs, 20);
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("kmax_pooling", in, attributes, 2);
    const unsigned size = in[0][attributes[0]];
    if (attributes[1] == 0 || attributes[1] > size) {
      throw_shape_error(
          "kmax_pooling",
          "1 to " + std::to_string(size) + " elements, not " + std::to_string(attributes[1]), in);
    }
    Dim result = in[0];
    result.d[attributes[0]] = attributes[1];
    return result;
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
  Op op = along_dimension("hinge",
                          "the sum of max(0, m - x[i] + x[k]) over all k but i along a dimension, "
                          "which disappears",
                          Needs::inputs, 1);
  op.reals_per_item = 1;
  op.integer_count = [](Attributes attributes) {
    return attributes.size() == 2 ? attributes[1] : 0;
  };
  op.integer_limit = [](const Signature& type) { return type.inputs[0][type.attributes[0]]; };
  op.shape = [](Inputs in, Attributes attributes) {
    check_axis("hinge", in, attributes, 2);
    const Dim result = without(in[0], attributes[0]);
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

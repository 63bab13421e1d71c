// Sources: inputs, parameters, constants, random numbers and rows of tables.
#include "dynet_like/ops/structured.h"

namespace dynet_like::ops {

namespace {

using Attributes = std::span<const std::uint32_t>;

// Sources write their shape into the attributes: [dtype, sizes...].
Dim shape_in_attributes(std::span<const Dim>, Attributes attributes) {
  Dim result;
  result.resize(static_cast<unsigned>(attributes.size() - 1));
  for (unsigned i = 0; i < result.nd; ++i) result.d[i] = attributes[i + 1];
  return result;
}

Op source(std::string_view name, std::string_view formula) {
  Op op;
  op.name = name;
  op.formula = formula;
  op.min_inputs = op.max_inputs = 0;
  op.needs = Needs::nothing;
  op.shape = shape_in_attributes;
  return op;
}

Op distribution(std::string_view name, std::string_view formula) {
  Op op = source(name, formula);
  op.random = true;
  op.shareable = false;
  op.integers_per_item = 3;
  op.reals_per_item = 2;
  op.cost = [](const Signature& type) { return 30.0 * type.output_size; };
  op.cases = [] {
    return std::vector<OpCase>{{{}, {0, 5}, {0.4, 1.5}}, {{}, {0, 3, 4}, {0.9, 2.5}}};
  };
  return op;
}

}  // namespace

const Op input = source("input", "data of the user, read where they lie");
const Op parameter = source("parameter", "the parameter's values, where they lie");
const Op lookup_parameter = source("lookup_parameter", "the whole table, where it lies");

const Op constant = [] {
  Op op = source("constant", "the same number everywhere");
  op.reals_per_item = 1;
  op.cases = [] { return std::vector<OpCase>{{{}, {0, 5}, {0.37}}, {{}, {0, 3, 4}, {-2.0}}}; };
  return op;
}();

const Op random_uniform =
    distribution("random_uniform", "from [a, b), equally likely; rounding may give b");
const Op random_normal =
    distribution("random_normal", "mean a, standard deviation b (Box and Muller 1958)");
const Op random_bernoulli = distribution("random_bernoulli", "b with probability a, else 0");
const Op random_gumbel = distribution("random_gumbel", "a - b ln(-ln u), u from (0, 1)");

const Op lookup = [] {
  Op op;
  op.name = "lookup";
  op.formula = "row i of a table";
  op.join = [](unsigned, std::span<const std::uint32_t>) { return Join::shared; };
  op.shareable = false;
  op.needs = Needs::nothing;
  op.integers_per_item = 1;
  op.integer_limit = [](const Signature& type) {
    const Dim& table = type.inputs[0];
    return table.d[table.nd - 1];
  };
  op.shape = [](std::span<const Dim> in, Attributes) {
    Dim entry = in[0];
    if (entry.nd < 2) throw_shape_error("lookup", "a table with a last dimension of rows", in);
    entry.resize(entry.nd - 1);
    return entry;
  };
  op.shared_gradient = [](const Signature&, unsigned) { return SharedGradient::rows; };
  op.cases = [] {
    return std::vector<OpCase>{{{Dim({5, 7})}}, {{Dim({2, 3, 4})}}, {{Dim({33, 2})}}};
  };
  op.bad_cases = [] { return std::vector<OpCase>{{{Dim({5})}}}; };
  return op;
}();

}  // namespace dynet_like::ops

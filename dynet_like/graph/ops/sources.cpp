// Sources of values: inputs, constants, parameters, rows of tables.
#include "dynet_like/core/counted.h"
#include "dynet_like/graph/recording.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/ops/axis.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/ops/source.h"
#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace ops {

namespace {

Op stored(std::string_view name, std::string_view formula, Role role) {
  Op op = source(name, formula);
  op.role = role;
  return op;
}

}  // namespace

const Op input = stored("input", "data of the user, read where they lie", Role::input);
const Op parameter = stored("parameter", "the parameter's values, where they lie", Role::parameter);
const Op lookup_parameter =
    stored("lookup_parameter", "the whole table, where it lies", Role::table);

const Op constant = [] {
  Op op = source("constant", "the same number everywhere");
  op.numbers.reals = 1;
  return op;
}();

const Op lookup = [] {
  Op op;
  op.name = "lookup";
  op.formula = "row i of a table";
  op.role = Role::row;
  op.batching.join = [](unsigned, std::span<const std::uint32_t>) { return Join::shared; };
  op.batching.shareable = false;
  op.gradient.needs = Needs::nothing;
  op.numbers.integers = 1;
  op.numbers.integer_limit = [](const Signature& type) {
    const Dim& table = type.inputs[0];
    return table.d[table.nd - 1];
  };
  op.shape = [](std::span<const Dim> in, Attributes) {
    Dim entry = in[0];
    if (entry.nd < 2) throw_shape_error("lookup", "a table with a last dimension of rows", in);
    entry.resize(entry.nd - 1);
    return entry;
  };
  op.gradient.shared = [](const Signature&, unsigned) { return SharedGradient::rows; };
  return op;
}();

std::span<const Op* const> source_ops() {
  static const Op* const all[] = {&input, &parameter, &lookup_parameter, &constant, &lookup};
  return all;
}

}  // namespace ops

using namespace detail::recording;

namespace {

Expression add_lookup(ComputationGraph& graph, const LookupParameter& table, const Numbers& rows,
                      bool constant) {
  if (table.p == nullptr) table.get_storage();  // throws
  const Recorder here(graph);
  TapeWriter& writer = here.writer();
  const ValueId values[] = {writer.add_parameter(*table.p, constant)};
  return here.expression(writer.add(ops::lookup, values, {}, rows));
}

template <class Handle>
Expression add_parameter(ComputationGraph& graph, const Handle& handle, bool constant) {
  if (handle.p == nullptr) handle.get_storage();  // throws
  const Recorder here(graph);
  return here.expression(here.writer().add_parameter(*handle.p, constant));
}

}  // namespace

Expression input(ComputationGraph& graph, float value) {
  const Recorder here(graph);
  return here.expression(here.writer().add_input(Dim({1}), std::span(&value, 1)));
}
Expression input(ComputationGraph& graph, const float* value) {
  const Recorder here(graph);
  return here.expression(here.writer().add_input_at(Dim({1}), {.place = value}));
}
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>& values) {
  const Recorder here(graph);
  return here.expression(here.writer().add_input(dim, values));
}
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<float>* values) {
  const Recorder here(graph);
  return here.expression(here.writer().add_input_at(dim, {.vector = values}));
}
Expression input(ComputationGraph& graph, const Dim& dim, const std::vector<unsigned>& elements,
                 const std::vector<float>& values, float elsewhere) {
  if (elements.size() != values.size()) {
    throw UsageError("[input] need a value for each of " +
                     detail::counted(elements.size(), "element") + "; got " +
                     std::to_string(values.size()));
  }
  std::vector<float> all(dim.size(), elsewhere);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i] >= all.size()) {
      throw UsageError("[input] need elements of " + to_string(dim) + "; got element " +
                       detail::index_text(elements[i]));
    }
    all[elements[i]] = values[i];
  }
  return input(graph, dim, all);
}
Expression one_hot(ComputationGraph& graph, unsigned n, unsigned index) {
  return one_hot(graph, n, std::vector<unsigned>{index});
}
Expression one_hot(ComputationGraph& graph, unsigned n, const std::vector<unsigned>& indices) {
  const Dim dim({n}, static_cast<unsigned>(indices.size()));
  std::vector<float> values(dim.size(), 0.0f);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] >= n) {
      throw UsageError("[one_hot] need an index below " + std::to_string(n) + "; got " +
                       detail::index_text(indices[i]));
    }
    values[i * n + indices[i]] = 1;
  }
  return input(graph, dim, values);
}
Expression constant(ComputationGraph& graph, const Dim& dim, float value) {
  const Recorder here(graph);
  const double number = static_cast<double>(value);
  return here.expression(here.writer().add_source(ops::constant, dim, std::span(&number, 1)));
}
Expression zeros(ComputationGraph& graph, const Dim& dim) { return constant(graph, dim, 0.0f); }
Expression ones(ComputationGraph& graph, const Dim& dim) { return constant(graph, dim, 1.0f); }
Expression parameter(ComputationGraph& graph, const Parameter& parameter) {
  return add_parameter(graph, parameter, false);
}
Expression parameter(ComputationGraph& graph, const LookupParameter& table) {
  return add_parameter(graph, table, false);
}
Expression const_parameter(ComputationGraph& graph, const Parameter& parameter) {
  return add_parameter(graph, parameter, true);
}
Expression const_parameter(ComputationGraph& graph, const LookupParameter& table) {
  return add_parameter(graph, table, true);
}
Expression lookup(ComputationGraph& graph, const LookupParameter& table, unsigned row) {
  return add_lookup(graph, table, {std::span(&row, 1)}, false);
}
Expression lookup(ComputationGraph& graph, const LookupParameter& table,
                  const std::vector<unsigned>& rows) {
  return add_lookup(graph, table, {rows}, false);
}
Expression lookup(ComputationGraph& graph, const LookupParameter& table, IntegersAt rows) {
  return add_lookup(graph, table, {{}, {}, rows}, false);
}
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table, IntegersAt rows) {
  return add_lookup(graph, table, {{}, {}, rows}, true);
}
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table, unsigned row) {
  return add_lookup(graph, table, {std::span(&row, 1)}, true);
}
Expression const_lookup(ComputationGraph& graph, const LookupParameter& table,
                        const std::vector<unsigned>& rows) {
  return add_lookup(graph, table, {rows}, true);
}

}  // namespace dynet_like

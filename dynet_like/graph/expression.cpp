// Expression: access to its graph or parameter, and how it prints.
#include "dynet_like/graph/expression.h"

#include <ostream>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/tape/tape.h"

namespace dynet_like {

using namespace detail;

Expression::Expression(ComputationGraph* graph, std::uint32_t value) {
  if (graph == nullptr) {
    throw UsageError("[Expression] need a value of a graph; got number " + std::to_string(value) +
                     " of 0");
  }
  const Tape& tape = graph->record().tape();
  const OneThread::Use use(tape.user());
  if (value >= tape.values().size()) {
    throw UsageError("[Expression] need a value of a graph; got number " + std::to_string(value) +
                     " of " + std::to_string(tape.values().size()));
  }
  *this = graph->expression(value);
}

Expression::Expression(const Parameter& parameter)
    : Expression(nullptr, Handle::kWhole, 0, parameter.get_storage().slot.get()) {
  generation_ = slot_->first_generation;
}

Expression::Expression(const LookupParameter& table) : Expression(Parameter(table.p)) {}

Expression LookupParameter::operator[](unsigned row) const {
  if (row >= rows()) {
    throw UsageError("[" + get_fullname() + "] need a row below " + std::to_string(rows()) +
                     "; got " + index_text(row));
  }
  Expression one = *this;
  one.i = row;
  return one;
}

ParameterStorage* Handle::parameter(const Expression& x) {
  if (x.pg != nullptr || x.empty()) return nullptr;
  if (!x.is_stale()) return x.slot_->parameter;
  throw StateError(
      "[Expression] need a parameter that is still there; got one whose collection "
      "was destroyed");
}

const Dim& Expression::dim() const {
  if (const ParameterStorage* const parameter = Handle::parameter(*this)) {
    return i == Handle::kWhole ? parameter->dim : parameter->entry_dim;
  }
  ComputationGraph& owner = graph("dim");
  const OneThread::Use use(owner.record().user());
  if (!owner.record().is_recorded(*this)) Handle::throw_reverted("dim");
  return owner.record().dim_of(i);
}

Tensor Expression::value() const { return graph("value").run().value(*this); }

Tensor Expression::gradient() const { return graph("gradient").run().gradient(*this); }

std::string Expression::get_device_name() const {
  Device& device = *graph("get_device_name").record().options().device;
  return device.is_cpu() ? "CPU" : device.name();
}

const Expression& Expression::label(std::string name) const {
  ComputationGraph& owner = graph("label");
  const OneThread::Use use(owner.record().user());
  owner.record().label(*this, std::move(name));
  return *this;
}

void Expression::throw_stale(const char* user) const {
  const ParameterStorage* const parameter = Handle::parameter(*this);
  if (parameter == nullptr) {
    throw StateError(std::string("[") + user + "] need an expression of a living graph; got " +
                     (empty() ? "an empty one" : "one whose graph was cleared or destroyed"));
  }
  const bool is_row = i != Handle::kWhole;
  const char* const advice =
      is_row                ? "lookup(graph, table, row), or embedding(graph, row) of a layer"
      : parameter->is_table ? "lookup(graph, table, row), or parameter(graph, table) for all rows"
                            : "parameter(graph, w)";
  throw UsageError(std::string("[") + user +
                   "] need an expression of a graph; got nothing but the " +
                   (is_row                ? "row of a table"
                    : parameter->is_table ? "table"
                                          : "parameter") +
                   " \"" + visible_text(parameter->name) + "\": use " + advice);
}

void Handle::throw_reverted(const char* user) {
  throw StateError(std::string("[") + user +
                   "] need an expression that is still recorded; got one that was reverted");
}

void GraphPointer::throw_empty() {
  throw StateError("[Expression] need an expression of a graph; got an empty one");
}

std::ostream& operator<<(std::ostream& out, const Expression& x) {
  if (x.is_stale()) return out << "(cleared expression)";
  if (const ParameterStorage* const parameter = Handle::parameter(x)) {
    return out << "parameter " << x.dim() << " \"" << visible_text(parameter->name) << '"';
  }
  const OneThread::Use use(x.pg->record().tape().user());
  if (x.is_stale() || !x.pg->record().is_recorded(x)) return out << "(cleared expression)";
  const Tape& tape = x.pg->record().tape();
  const NodeId node = tape.value(x.i).node;
  out << visible_text(tape.type_of(node).op->name) << ' ' << x.dim();
  const std::string& label = label_of(tape, node);
  if (!label.empty()) out << " \"" << visible_text(label) << '"';
  return out;
}

}  // namespace dynet_like

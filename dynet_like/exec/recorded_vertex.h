// What a function recorded for a vertex.
#pragma once

#include <memory>
#include <vector>

#include "dynet_like/device/formula_kernels.h"
#include "dynet_like/tape/tape.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::detail {

/// What a function recorded for vertices of a kind on a tape of its own.
struct RecordedVertex {
  VertexKind kind;
  std::vector<ValueId> columns, states;  ///< stand-ins; states by predecessor, then by state
  std::vector<ValueId> results;
};

/// Whether the node stands in for a column, or for a state.
bool is_column(const Tape& tape, const RecordedVertex& vertex, NodeId node);
bool is_state(const Tape& tape, const RecordedVertex& vertex, NodeId node);
/// Whether the value is computed in the vertex.
bool is_inner(const Tape& tape, const RecordedVertex& vertex, const Value& value);
/// Those that the results need, in their order.
std::vector<NodeId> nodes_of(const Tape& tape, const RecordedVertex& vertex);

/// Ops that vertices of one function share.
using FormulaOps = std::vector<std::shared_ptr<const OpOfFormula>>;

/// The same with elementwise operations made one wherever nothing but such lies between them:
/// numbers in the middle stay in registers and in the nearest cache. It is recorded behind the
/// other.
RecordedVertex join_elementwise(Tape& tape, const RecordedVertex& vertex, FormulaOps& ops);

}  // namespace dynet_like::detail

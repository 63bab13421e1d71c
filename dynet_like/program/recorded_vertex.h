// What a function recorded for a vertex.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "dynet_like/device/formula_kernels.h"
#include "dynet_like/tape/tape_writer.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::detail {

/// What a function recorded for vertices of a kind on a tape of its own.
struct RecordedVertex {
  VertexKind kind;
  NodeId first =
      0;  ///< of its nodes: the stand-ins for columns, then those for states, then all else
  std::vector<ValueId> columns, states;  ///< stand-ins; states by predecessor, then by state
  std::vector<ValueId> results;
  /// Of nodes that stand for others: when their inputs were recorded (see turn_of).
  std::map<NodeId, std::vector<std::uint64_t>> turns;
};

/// When an input was recorded: the order of contributions to gradients follows from it.
inline std::uint64_t turn_of(const RecordedVertex& vertex, NodeId node, std::size_t input) {
  const auto stands_for = vertex.turns.find(node);
  if (stands_for != vertex.turns.end()) return stands_for->second[input];
  return (std::uint64_t{node} << 32) + input;
}

/// Which column or state, of those above, the node stands in for; none if that is not below their
/// number.
inline std::size_t column_at(const RecordedVertex& vertex, NodeId node) {
  return std::size_t{node} - vertex.first;
}
inline std::size_t state_at(const RecordedVertex& vertex, NodeId node) {
  return column_at(vertex, node) - vertex.columns.size();
}
inline bool is_state(const RecordedVertex& vertex, NodeId node) {
  return state_at(vertex, node) < vertex.states.size();
}
/// Whether the value is computed in the vertex.
inline bool is_inner(const RecordedVertex& vertex, const Value& value) {
  return value.identity == 0 &&
         column_at(vertex, value.node) >= vertex.columns.size() + vertex.states.size();
}
/// Whether the results or nodes of the vertex read what was computed before it: that is not there
/// when it runs.
bool reads_earlier_nodes(const Tape& tape, const RecordedVertex& vertex);
/// Those that the results need, in their order.
std::vector<NodeId> nodes_of(const Tape& tape, const RecordedVertex& vertex);

/// Ops that vertices of one function share.
using FormulaOps = std::vector<std::shared_ptr<const OpOfFormula>>;

/// The same with elementwise operations made one wherever nothing but such lies between them, and
/// sums of gradients keep their order: numbers in the middle stay in registers and in the nearest
/// cache. It is recorded behind the other.
RecordedVertex join_elementwise(TapeWriter& writer, const RecordedVertex& vertex, FormulaOps& ops);

}  // namespace dynet_like::detail

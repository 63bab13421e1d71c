// The record of a function for a vertex.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "dynet_like/device/formula_kernels.h"
#include "dynet_like/tape/tape_writer.h"
#include "dynet_like/tape/vertices.h"

namespace dynet_like::detail {

/// What a function recorded on its own tape for vertices of one kind.
struct RecordedVertex {
  VertexKind kind;
  NodeId first =
      0;  ///< its nodes: the stand-ins for columns, then those for states, then all others
  std::vector<ValueId> columns, states;  ///< stand-ins; states by predecessor, then by state
  std::vector<ValueId> results;
  /// For nodes that replace others: when their inputs were recorded (see turn_of).
  std::map<NodeId, std::vector<std::uint64_t>> turns;
  std::uint32_t draws = 0;  ///< random nodes, needed or not
  /// For random nodes: their numbers in the order of recording, which nodes that replace them keep.
  std::map<NodeId, std::uint32_t> draw;
};

/// When an input was recorded. This determines the order of contributions to gradients.
inline std::uint64_t turn_of(const RecordedVertex& vertex, NodeId node, std::size_t input) {
  const auto stands_for = vertex.turns.find(node);
  if (stands_for != vertex.turns.end()) return stands_for->second[input];
  return (std::uint64_t{node} << 32) + input;
}

/// The number of the column, or of the state, that the node stands for. It does not stand for one
/// if the number is not below their count.
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
/// Whether the results or nodes of the vertex read values that were computed before it. These do
/// not exist when it runs.
bool reads_earlier_nodes(const Tape& tape, const RecordedVertex& vertex);
/// The nodes that the results need, in order.
std::vector<NodeId> nodes_of(const Tape& tape, const RecordedVertex& vertex);

/// The ops of formulas that vertices of one function share.
using FormulaOps = std::vector<std::shared_ptr<const OpOfFormula>>;

/// Records the vertex again, with elementwise operations joined wherever no other operations lie
/// between them and sums of gradients keep their order. Intermediate numbers then stay in registers
/// and in the L1 cache.
RecordedVertex join_elementwise(TapeWriter& writer, const RecordedVertex& vertex, FormulaOps& ops);

}  // namespace dynet_like::detail

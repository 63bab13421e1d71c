// Which nodes of a tape are a vertex.
#include "dynet_like/exec/recorded_vertex.h"

#include <algorithm>

namespace dynet_like::detail {

namespace {

bool stands_in(const Tape& tape, const std::vector<ValueId>& values, NodeId node) {
  return std::ranges::any_of(values, [&](ValueId id) { return tape.value(id).node == node; });
}

}  // namespace

bool is_column(const Tape& tape, const RecordedVertex& vertex, NodeId node) {
  return stands_in(tape, vertex.columns, node);
}

bool is_state(const Tape& tape, const RecordedVertex& vertex, NodeId node) {
  return stands_in(tape, vertex.states, node);
}

bool is_inner(const Tape& tape, const RecordedVertex& vertex, const Value& value) {
  return value.identity == 0 && !is_column(tape, vertex, value.node) &&
         !is_state(tape, vertex, value.node);
}

// Back from the results.
std::vector<NodeId> nodes_of(const Tape& tape, const RecordedVertex& vertex) {
  std::vector<bool> is_needed(tape.size());
  const auto need = [&](ValueId id) {
    if (is_inner(tape, vertex, tape.value(id))) is_needed[tape.value(id).node] = true;
  };
  std::ranges::for_each(vertex.results, need);
  std::vector<NodeId> nodes;
  for (auto node = static_cast<NodeId>(tape.size()); node-- > 0;) {
    if (!is_needed[node]) continue;
    nodes.push_back(node);
    std::ranges::for_each(tape.inputs_of(node), need);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

}  // namespace dynet_like::detail

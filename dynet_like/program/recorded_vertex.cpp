// Finds the nodes of a tape that belong to a vertex.
#include "dynet_like/program/recorded_vertex.h"

#include <algorithm>

namespace dynet_like::detail {

bool reads_earlier_nodes(const Tape& tape, const RecordedVertex& vertex) {
  const auto is_earlier = [&](ValueId id) {
    const Value& value = tape.value(id);
    return value.identity == 0 && value.node < vertex.first;
  };
  if (std::ranges::any_of(vertex.results, is_earlier)) return true;
  for (NodeId node = vertex.first; node < tape.size(); ++node) {
    if (std::ranges::any_of(tape.inputs_of(node), is_earlier)) return true;
  }
  return false;
}

// Goes back from the results.
std::vector<NodeId> nodes_of(const Tape& tape, const RecordedVertex& vertex) {
  std::vector<bool> is_needed(tape.size() - vertex.first);
  const auto need = [&](ValueId id) {
    const Value& value = tape.value(id);
    if (is_inner(vertex, value)) is_needed[value.node - vertex.first] = true;
  };
  std::ranges::for_each(vertex.results, need);
  std::vector<NodeId> nodes;
  for (auto node = static_cast<NodeId>(tape.size()); node-- > vertex.first;) {
    if (!is_needed[node - vertex.first]) continue;
    nodes.push_back(node);
    std::ranges::for_each(tape.inputs_of(node), need);
  }
  std::ranges::reverse(nodes);
  return nodes;
}

}  // namespace dynet_like::detail

// Marks, and forgetting what was recorded after one.
#include <algorithm>

#include "dynet_like/tape/tape.h"

namespace dynet_like::detail {

Tape::Mark Tape::mark() const {
  return {nodes_.size(),  edges_.size(), values_.size(), numbers_.size(),
          inputs_.size(), random_nodes_, data_.mark()};
}

bool Tape::has_boundary_between(NodeId a, NodeId b) const {
  const auto next = std::upper_bound(boundaries_.begin(), boundaries_.end(), a);
  return next != boundaries_.end() && *next <= b;
}

void Tape::revert(const Mark& mark) {
  knows_unread_ = mark.nodes == 0;
  unread_ = 0;
  nodes_.truncate(mark.nodes);
  edges_.truncate(mark.edges);
  values_.truncate(mark.values);
  numbers_.truncate(mark.numbers);
  std::erase_if(later_integers_, [&](const auto& entry) { return entry.first >= mark.nodes; });
  std::erase_if(shared_nodes_, [&](NodeId node) { return node >= mark.nodes; });
  // Another mark at the same place has a boundary of its own.
  std::erase_if(boundaries_, [&](NodeId node) { return node > mark.nodes || mark.nodes == 0; });
  if (!boundaries_.empty() && boundaries_.back() == mark.nodes) boundaries_.pop_back();
  inputs_.resize(mark.inputs);
  std::erase_if(shared_inputs_,
                [&](const auto& known) { return known.end > mark.values || mark.nodes == 0; });
  if (mark.nodes == 0) kept_ops_.clear();
  while (!recursions_.empty() && recursions_.back().node >= mark.nodes) {
    vertices_ -= recursions_.back().vertices->size();
    recursions_.pop_back();
  }
  random_nodes_ = mark.random_nodes;
  data_.rewind(mark.data);
  parameters_.revert(static_cast<std::uint32_t>(mark.values));
  std::erase_if(unique_arguments_, [&](const auto& entry) { return entry.first >= mark.values; });
  calls_.revert(static_cast<NodeId>(mark.nodes));
  std::erase_if(labels_, [&](const auto& entry) { return entry.first >= mark.nodes; });
}

}  // namespace dynet_like::detail

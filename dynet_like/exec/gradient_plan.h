// A backward pass before anything of it runs.
#pragma once

#include <span>
#include <string>

#include "dynet_like/exec/cell_gradients.h"
#include "dynet_like/exec/node_gradients.h"

namespace dynet_like::detail {

/// Decides which nodes and cells of a lane take part in a backward pass, where in one block their
/// gradients lie, and how contributions to them are summed. Keeps its memory from pass to pass.
class GradientPlan {
 public:
  explicit GradientPlan(RunState& run) : nodes(run), cells(run, nodes), run_(run) {}

  /// For the sum of these values, those of them that are in this lane; `full`: inputs have
  /// gradients too; `whole`: cells run as a whole where they can.
  void make(std::span<const ValueRef> roots, bool full, bool whole);
  /// For people: a line for every node that takes part, the last first.
  std::string to_string() const;

  NodeGradients nodes;
  CellGradients cells;

 private:
  void decide_tape(std::uint32_t tape);
  std::string line_of(NodeRef ref) const;

  const RunState& run_;
};

}  // namespace dynet_like::detail

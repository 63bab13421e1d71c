// A backward pass while it runs: its plan, the block in which gradients lie, and calls of kernels.
#pragma once

#include <vector>

#include "dynet_like/exec/gradient_plan.h"
#include "dynet_like/exec/shared_contributions.h"

namespace dynet_like::detail {

class BackwardPass {
 public:
  explicit BackwardPass(RunState& run_state)
      : run(run_state), plan(run), contributions(run.common) {}

  /// Plans, and brings the block to where kernels can begin.
  void begin(std::span<const ValueRef> roots, bool full, bool whole_cells);

  std::byte* at(Place place) const { return place == kNowhere ? nullptr : block_.data() + place; }
  std::byte* gradients_of(std::uint32_t batch) const {
    return at(plan.nodes.of_batch(batch).gradients);
  }
  /// What kernels leave for shared arguments.
  std::byte* deferred_of(std::uint32_t batch) const {
    return at(plan.nodes.of_batch(batch).deferred);
  }
  std::byte* gradient_of(NodeRef ref) const;

  /// Calls the kernel of a batch for the items at `positions`, whose results go to dx.
  void call_kernel(std::uint32_t batch, const Destination* dx);
  /// Of the matrix at input j that all items share, if the gradient of its right side is wanted.
  const void* transpose(const NodeType& type, unsigned j, const Destination* dx);
  /// Adds what waits in slots for the gradient of a node.
  void sum_slots(NodeRef ref);
  /// What a node contributes to the shared values among its inputs.
  void contribute(NodeRef ref);
  void contribute(NodeRef ref, std::uint32_t input);
  /// Its gradient, or what its kernel has left for shared arguments.
  const std::byte* contribution_of(NodeRef ref) const;

  RunState& run;
  GradientPlan plan;
  SharedContributions contributions;  ///< to shared values

  // Of the batch that is being run.
  std::vector<NodeRef> members;          ///< nodes that take part, or one as an example
  std::vector<std::uint32_t> positions;  ///< their items
  Arena lists;                           ///< of pointers

 private:
  bool runs_cells_ = false;
  Block block_;
  std::vector<const void*> addends_;
};

}  // namespace dynet_like::detail

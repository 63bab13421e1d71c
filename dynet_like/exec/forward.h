// The forward pass of one lane: plans its nodes and runs them batch by batch.
#pragma once

#include <span>
#include <vector>

#include "batching/planner.h"
#include "dynet_like/exec/needed.h"

namespace dynet_like {

/// Plans and runs the nodes of one lane. Keeps its memory from call to call.
class Forward {
 public:
  explicit Forward(RunState& run) : run_(run) {}

  /// Runs nodes whose other inputs have values. `shared`: nodes that all samples share. If there
  /// are values to `keep`, gives back the memory of all others as soon as no later batch reads
  /// them; they are computed again when they are asked for.
  void run(std::span<const NodeRef> pending, bool shared, std::span<const ValueRef> keep);

 private:
  const batching::Schedule& plan(std::span<const NodeRef> pending);
  void find_last_reads(std::span<const NodeRef> pending, const batching::Schedule& schedule,
                       std::span<const ValueRef> keep);
  void give_back_unread(std::size_t step, std::size_t first_batch);
  void resolve_inputs();
  const NodeState& producer_of(NodeRef consumer, ValueId input) const;

  RunState& run_;
  batching::Planner planner_;

  // The view of the planner.
  std::vector<std::uint32_t> type_, first_input_, inputs_, plan_type_of_, used_types_;
  // Per step of a schedule: the last step that reads it.
  std::vector<std::uint32_t> step_of_, last_read_;
  std::vector<NodeRef> step_members_;
};

/// Runs the nodes as one batch: one kernel call. Their inputs must have been computed.
void run_batch(RunState& run, std::span<const NodeRef> members, bool shared);

}  // namespace dynet_like

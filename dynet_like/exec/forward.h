// The forward pass: finds what is needed, has it planned, and runs it batch by batch.
#pragma once

#include <span>
#include <vector>

#include "batching/planner.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like {

/// A value of one of the tapes.
struct ValueRef {
  std::uint32_t tape = 0;
  ValueId value = 0;
};

/// Computes values. Keeps its memory from call to call.
class Forward {
 public:
  explicit Forward(RunState& run) : run_(run) {}

  /// Computes what these values need and no more. With `free_unread`, gives back the memory of all
  /// others as soon as no later batch reads them; they are computed again when they are asked for.
  void compute(std::span<const ValueRef> targets, bool free_unread);

 private:
  void collect(std::span<const ValueRef> targets);
  void collect_tape(std::uint32_t tape, NodeId last, std::size_t open);
  bool need(std::uint32_t tape, NodeId node);
  void place_source(NodeRef ref);
  void describe(SharedValue& shared, NodeRef ref);
  void run(std::span<const NodeRef> pending, bool shared, std::span<const ValueRef> keep);
  const batching::Schedule& plan(std::span<const NodeRef> pending);
  void find_last_reads(std::span<const NodeRef> pending, const batching::Schedule& schedule,
                       std::span<const ValueRef> keep);
  void give_back_unread(std::size_t step, std::size_t first_batch);
  void resolve_aliases(std::span<const NodeRef> aliases);
  void resolve_inputs();
  const NodeState& producer_of(NodeRef consumer, ValueId input) const;

  RunState& run_;
  batching::Planner planner_;

  std::vector<NodeRef> pending_, pending_shared_, aliases_;
  // The view of the planner.
  std::vector<std::uint32_t> type_, first_input_, inputs_, plan_type_of_, used_types_;
  // Per step of a schedule: the last step that reads it.
  std::vector<std::uint32_t> step_of_, last_read_;
  std::vector<NodeRef> step_members_;
};

/// Runs the nodes as one batch: one kernel call. Their inputs must have been computed.
void run_batch(RunState& run, std::span<const NodeRef> members, bool shared);

}  // namespace dynet_like

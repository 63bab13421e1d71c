// The forward pass of one lane: plans its nodes and runs them batch by batch.
#pragma once

#include <span>
#include <vector>

#include "batching/planner.h"
#include "dynet_like/core/met_numbers.h"
#include "dynet_like/exec/early_nodes.h"
#include "dynet_like/exec/forward_parts.h"
#include "dynet_like/exec/needed.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Plans and runs the nodes of one lane. Keeps its memory from call to call.
class Forward {
 public:
  explicit Forward(RunState& run) : run_(run), early_(run) {}

  /// Runs nodes whose other inputs have values, part by part: see ForwardParts, which says whose
  /// memory is given back as soon as no later batch reads them. These values are computed again
  /// when they are requested.
  void run(std::span<const NodeRef> pending, std::span<const ValueRef> targets, bool free_unread);
  /// Runs nodes that all samples share.
  void run_shared(std::span<const NodeRef> pending);

 private:
  void run_part(const ForwardParts::Part& part, bool shared);
  const batching::Schedule& make_plan(const ForwardParts::Part& part);
  const batching::Schedule& plan(std::span<const NodeRef> pending);
  std::uint32_t planned_type(std::uint32_t type);
  void add_input(const TapeLists& tape, ValueId input, std::uint32_t index);
  void find_last_reads(const batching::Schedule& schedule, std::span<const std::uint8_t> freed);
  void give_back_unread(std::size_t step, std::size_t first_batch);
  void resolve_inputs();

  RunState& run_;
  batching::Planner planner_;
  EarlyNodes early_;
  ForwardParts parts_;

  // The planner's view of the nodes.
  std::vector<std::uint32_t> type_, first_input_, inputs_;
  MetNumbers types_;
  struct TypeOfFunction {
    const void* function;
    std::uint32_t type;
    std::span<const InputKey> arguments;
  };
  std::vector<TypeOfFunction> functions_;  ///< of recursions, with their planned_type
  std::vector<std::uint32_t> batch_of_;    ///< by node: its step in the schedule
  std::vector<std::uint32_t> last_read_;   ///< by step: the last step that reads it; kNone: stays
  /// By step: the first of the steps whose values it is the last to read; by step: the next one.
  std::vector<std::uint32_t> first_unread_, next_unread_;
  std::vector<NodeRef> nodes_;  ///< of the running batch
};

}  // namespace dynet_like::detail

// The forward pass of one lane: plans its nodes and runs them batch by batch.
#pragma once

#include <span>
#include <vector>

#include "batching/planner.h"
#include "dynet_like/exec/cell_matcher.h"
#include "dynet_like/exec/met_types.h"
#include "dynet_like/exec/needed.h"

namespace dynet_like::detail {

/// Plans and runs the nodes of one lane. Keeps its memory from call to call.
class Forward {
 public:
  explicit Forward(RunState& run) : run_(run), matcher_(run) {}

  /// Runs nodes whose other inputs have values. `shared`: nodes that all samples share. If there
  /// are values to `keep`, gives back the memory of all others as soon as no later batch reads
  /// them; they are computed again when they are asked for.
  void run(std::span<const NodeRef> pending, bool shared, std::span<const ValueRef> keep);

  /// How many of the nodes of the last call that could be in cells are in none.
  std::size_t single_nodes() const { return single_nodes_; }

 private:
  void run_all(std::span<const NodeRef> pending, bool shared, std::span<const ValueRef> keep);
  void divide(std::span<const NodeRef> pending, bool shared);
  const batching::Schedule& make_plan(std::span<const NodeRef> pending, bool shared,
                                      std::span<const ValueRef> keep);
  const batching::Schedule& plan(std::span<const NodeRef> pending);
  void add_input(NodeRef consumer, ValueId input, std::uint32_t unit);
  void find_last_reads(const batching::Schedule& schedule, std::span<const ValueRef> keep);
  std::span<const std::uint32_t> last_reads_of(std::size_t step) const;
  void run_step(std::span<const NodeRef> pending, std::span<const std::uint32_t> units, bool shared,
                std::span<const std::uint32_t> last_reads);
  void give_back_unread(std::size_t step, std::size_t first_batch);
  void give_back_read(NodeRef consumer, ValueId input, std::size_t step, std::size_t first_batch);
  void give_back(std::size_t of_batch, std::size_t step, std::size_t first_batch);
  std::size_t batches_of(std::uint32_t unit) const;
  std::uint32_t batch_inside(NodeId node, std::uint32_t unit) const;
  void resolve_inputs();
  const NodeState& producer_of(NodeRef consumer, ValueId input) const;

  RunState& run_;
  CellMatcher matcher_;
  batching::Planner planner_;
  std::span<const Unit> units_;
  std::vector<Unit> all_single_;
  std::size_t single_nodes_ = 0;

  // The view of the planner: units instead of nodes.
  std::vector<std::uint32_t> type_, first_input_, inputs_;
  MetTypes types_;
  // Per batch that the schedule makes: the last step that reads it. A step of cells makes several.
  bool frees_ = false;
  std::vector<std::uint32_t> step_of_, first_batch_of_, last_read_;
  std::vector<std::uint32_t> input_batch_;  ///< per input: which batch of its unit it is
  std::vector<NodeRef> step_members_;
  std::vector<std::uint32_t> step_cells_;
};

}  // namespace dynet_like::detail

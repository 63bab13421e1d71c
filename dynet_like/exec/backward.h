// The backward pass of one lane: its batches in reverse, gradients summed in recording order.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "dynet_like/exec/backward_cells.h"
#include "dynet_like/exec/backward_pass.h"
#include "dynet_like/exec/cell_contributions.h"

namespace dynet_like::detail {

/// Runs backward passes over the tapes of one lane. Keeps its memory, and the gradients of the last
/// pass.
class Backward {
 public:
  explicit Backward(RunState& run) : run_(run), pass_(run), cells_(pass_), of_cells_(pass_) {}

  /// Finds the gradients of the sum of these values, those of them that are in this lane; `full`:
  /// inputs have gradients too. What parameters and what follows from them alone get is collected.
  /// Modes that check every node run cells node by node; verify_batching runs them as a whole, too,
  /// and compares. `part_ends`: what the tapes below each of these, and no part before, contribute
  /// to shared values is a part of its own.
  void run(std::span<const ValueRef> roots, bool full,
           std::span<const std::uint32_t> part_ends = {});
  SharedContributions& contributions() { return pass_.contributions; }

  /// The gradient of a node's output in the last pass, or null if it has none.
  const std::byte* gradient_of(NodeRef ref) const;
  /// Bytes of all gradients.
  std::size_t bytes() const { return was_run_ ? pass_.plan.nodes.bytes() : 0; }
  void forget() { was_run_ = false; }
  bool was_run() const { return was_run_; }

 private:
  void run_pass(std::span<const ValueRef> roots, bool full, bool whole_cells,
                std::span<const std::uint32_t> part_ends);
  void verify_cells(std::span<const ValueRef> roots, bool full,
                    std::span<const std::uint32_t> part_ends);
  void begin_pass(std::span<const ValueRef> roots, bool full, bool whole_cells);
  bool is_last_of_cells(std::uint32_t batch) const;
  bool has_single_nodes(std::uint32_t batch) const;
  void run_batch(std::uint32_t index);
  void find_members(const Batch& batch);
  Destination destination(unsigned input);
  std::size_t stride_of(NodeRef consumer, unsigned input) const;
  void sum_slots_of_sources(std::uint32_t tape);
  void contribute_to_shared(std::uint32_t tape);
  void contribute_recursion(NodeRef ref);

  RunState& run_;
  BackwardPass pass_;
  BackwardCells cells_;
  CellContributions of_cells_;
  bool was_run_ = false;
  std::unique_ptr<Backward> in_cells_;             ///< the same pass, to compare with
  std::vector<const EdgeGradient*> member_edges_;  ///< by BackwardPass::members
};

}  // namespace dynet_like::detail

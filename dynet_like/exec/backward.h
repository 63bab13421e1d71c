// The backward pass of one lane: its batches in reverse, and what parameters get.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/exec/pass_gradients.h"
#include "dynet_like/exec/shared_contributions.h"

namespace dynet_like::detail {

/// Runs backward passes over the tapes of one lane. Keeps its memory, and the gradients of the last
/// pass.
class Backward {
 public:
  explicit Backward(RunState& run)
      : run_(run), gradients_(run), contributions_(run.common), lists_() {}

  /// Finds the gradients of the sum of these values, those of them that are in this lane; `full`:
  /// inputs have gradients too. What parameters and what follows from them alone get is collected.
  /// `part_ends`: what the tapes below each of these, and no part before, contribute to shared
  /// values is a part of its own.
  void run(std::span<const ValueRef> roots, bool full,
           std::span<const std::uint32_t> part_ends = {});
  SharedContributions& contributions() { return contributions_; }

  /// The gradient of a node's output in the last pass, or null if it has none.
  const std::byte* gradient_of(NodeRef ref) const;
  /// Bytes of all gradients.
  std::size_t bytes() const { return was_run_ ? gradients_.plan.bytes() : 0; }
  void forget() { was_run_ = false; }
  bool was_run() const { return was_run_; }

 private:
  void begin(std::span<const ValueRef> roots, bool full);
  void run_batch(std::uint32_t index);
  void find_nodes(const Batch& batch);
  Destination destination(unsigned input);
  std::size_t stride_of(NodeRef consumer, unsigned input) const;
  void sum_slots_of_sources(std::uint32_t tape);
  void contribute_to_shared(std::uint32_t tape);
  void contribute(NodeRef ref, std::size_t inputs);

  RunState& run_;
  PassGradients gradients_;
  SharedContributions contributions_;
  bool was_run_ = false;

  // Of the batch that is being run: nodes that take part, their edges, and the numbers of their
  // items.
  std::vector<NodeRef> nodes_;
  std::vector<const EdgeGradient*> edges_;
  std::vector<std::uint32_t> items_;
  Arena lists_;
};

}  // namespace dynet_like::detail

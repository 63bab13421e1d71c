// The gradients of a backward pass: their plan, and the block in which they lie.
#pragma once

#include <vector>

#include "dynet_like/exec/gradient_plan.h"

namespace dynet_like::detail {

class PassGradients {
 public:
  explicit PassGradients(RunState& run) : plan(run), run_(run) {}

  /// Makes the plan, and initialises the block.
  void begin(std::span<const ValueRef> roots, bool full);

  std::byte* at(Place place) const { return place == kNowhere ? nullptr : block_.data() + place; }
  /// The gradients of a batch's outputs, or null if no node takes part.
  std::byte* of_batch(std::uint32_t batch) const { return at(plan.of_batch(batch).gradients); }
  /// The numbers that the batch's kernel leaves for weights.
  std::byte* deferred_of(std::uint32_t batch) const { return at(plan.of_batch(batch).deferred); }
  /// The gradient of a node, or the numbers that its kernel left for weights.
  const std::byte* contribution_of(NodeRef ref) const;
  /// Adds what waits in slots to the gradient of a node.
  void sum_slots(NodeRef ref);

  GradientPlan plan;

 private:
  void add_listed(std::uint32_t tape, std::uint32_t edge);

  RunState& run_;
  Block block_;
  std::vector<const void*> addends_;
};

}  // namespace dynet_like::detail

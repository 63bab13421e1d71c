// The gradients of a backward pass: planned, and then a block in which they lie.
#pragma once

#include <vector>

#include "dynet_like/exec/gradient_plan.h"

namespace dynet_like::detail {

class PassGradients {
 public:
  explicit PassGradients(RunState& run) : plan(run), run_(run) {}

  /// Plans, and brings the block to where kernels can begin.
  void begin(std::span<const ValueRef> roots, bool full);

  std::byte* at(Place place) const { return place == kNowhere ? nullptr : block_.data() + place; }
  /// Those of a batch's outputs, or null if none takes part.
  std::byte* of_batch(std::uint32_t batch) const { return at(plan.of_batch(batch).gradients); }
  /// What its kernel leaves for weights.
  std::byte* deferred_of(std::uint32_t batch) const { return at(plan.of_batch(batch).deferred); }
  /// That of a node, or what its kernel has left for weights.
  const std::byte* contribution_of(NodeRef ref) const;
  /// Adds what waits in slots for the gradient of a node.
  void sum_slots(NodeRef ref);

  GradientPlan plan;

 private:
  void add_listed(std::uint32_t tape, std::uint32_t edge);

  RunState& run_;
  Block block_;
  std::vector<const void*> addends_;
};

}  // namespace dynet_like::detail

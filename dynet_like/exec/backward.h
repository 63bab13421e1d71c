// The backward pass of one lane: its batches in reverse, and contributions to parameters.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/exec/gradient_plan.h"
#include "dynet_like/exec/shared_contributions.h"
#include "dynet_like/exec/waiting_addends.h"

namespace dynet_like::detail {

/// Runs backward passes over the tapes of one lane. Keeps its memory, and the gradients of the last
/// pass.
class Backward {
 public:
  explicit Backward(RunState& run) : run_(run), contributions_(run.common) {}

  /// Computes the gradients of the sum of those of these values that are in this lane. `full`:
  /// inputs have gradients, too. Contributions to parameters, and to values of parameters alone,
  /// are collected. `shard_ends`: the tapes below each of these ends, and above the one before,
  /// form a shard; contributions of each shard to shared values are kept apart.
  void run(std::span<const ValueRef> roots, bool full,
           std::span<const std::uint32_t> shard_ends = {});
  SharedContributions& contributions() { return contributions_; }

  /// The gradient of a node's output in the last pass, or null if it has none.
  const std::byte* gradient_of(NodeRef ref) const;
  /// The bytes of all gradients.
  std::size_t bytes() const { return was_run_ ? gradients_.plan.bytes : 0; }
  void forget() { was_run_ = false; }
  bool was_run() const { return was_run_; }

 private:
  /// A node of the running batch that takes part.
  struct Member {
    NodeRef ref;
    const EdgeGradient* edges;
    std::uint32_t first_item, items;
  };

  void begin(std::span<const ValueRef> roots, bool full);
  void differentiate_batch(std::uint32_t index);
  void find_members(const Batch& batch, const GradientPlan::OfBatch& of_batch);
  void complete_gradients(const GradientPlan::OfBatch& of_batch);
  Destination destination(const Batch& batch, unsigned input);
  void find_places(const Member& member, const Operand& in, const EdgeGradient& edge,
                   std::size_t element, void** places);
  std::byte* gradient_at(const std::byte* value);
  void sum_slots(NodeRef ref);
  void list_slots(NodeRef ref, const ContributionPlace& place, std::byte* gradient,
                  std::size_t element);
  void sum_slots_of_sources(std::uint32_t tape);
  const std::byte* contribution_of(NodeRef ref) const;
  void contribute_to_shared(std::uint32_t tape);
  void contribute(NodeRef ref, std::size_t inputs);

  RunState& run_;
  PassGradients gradients_;
  SharedContributions contributions_;
  bool was_run_ = false;

  // For the running batch.
  std::vector<Member> members_;
  std::vector<NodeRef> nodes_;  ///< of the members, if they are checked
  std::vector<std::uint32_t>
      items_;  ///< the numbers of their items; empty if all nodes are members
  std::size_t item_count_ = 0;
  const GradientPlan::Stretch* last_stretch_ = nullptr;
  std::vector<WaitingAddend> waiting_;
  Arena lists_;
};

}  // namespace dynet_like::detail

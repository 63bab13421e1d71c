// The backward pass: the forward batches in reverse, every gradient summed in recording order.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/exec/forward.h"
#include "dynet_like/exec/run_state.h"
#include "dynet_like/exec/shared_gradients.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like {

/// How the contributions of a node's consumers become its gradient. That depends on the graph
/// alone, never on the schedule, so that the bits do not either.
enum class Summing : std::uint8_t {
  in_place,  ///< one contribution, or several that do not overlap: written where they belong
  pair,      ///< two that cover the node: the first is written, the second added (a + b = b + a)
  slots      ///< everything else: from slots of their own, in recording order
};

struct NodeGradient {
  std::byte* gradient = nullptr;
  std::uint32_t first_consumer = kNone;  ///< edge; the others follow in recording order
  std::uint32_t contributions = 0;
  std::uint32_t written_by = kNone;  ///< the batch that wrote the first of a pair
  Summing summing = Summing::in_place;
  bool active = false, seeded = false;
  bool covered = false;  ///< every contribution covers the whole node
};

struct EdgeGradient {
  std::byte* slots = nullptr;  ///< null: written to the producer's gradient directly
  std::uint32_t next = kNone;
  std::uint32_t copies = 1;  ///< contributions: one, or one per item that a value is stretched to
};

/// Runs backward passes. Keeps its memory, and the gradients of the last pass.
class Backward {
 public:
  explicit Backward(RunState& run) : run_(run), shared_(run) {}

  /// Begins a pass, which may take several runs over parts of the tapes.
  void begin() { shared_.begin(); }
  /// Adds the gradients of the sum of these values to `gradients`; `full`: inputs have gradients
  /// too. Gradients that go through nodes of parameters alone wait for `finish`.
  void run(std::span<const ValueRef> roots, Gradients& gradients, bool full);
  /// Completes what several runs have begun.
  void finish(Gradients& gradients) { shared_.finish(gradients); }

  /// The gradient of a node's output in the last pass, or null if it has none.
  const std::byte* gradient_of(NodeRef ref) const;
  void forget() { used_ = 0; }

 private:
  struct TapeGradients {
    std::vector<NodeGradient> nodes;
    std::vector<EdgeGradient> edges;
    std::vector<SharedEdge> shared_edges;  ///< from the last to the first
    std::vector<Value> shared_roots;
  };
  struct Pending {
    std::byte* to;
    const std::byte* from;
    std::size_t size;
  };

  // Which nodes take part, and how their contributions are summed.
  void seed(std::span<const ValueRef> roots);
  void mark_tape(std::uint32_t tape);
  void link(NodeRef consumer, std::uint32_t edge, ValueId input);
  void choose_summing(NodeRef ref);
  void add_slots(NodeRef ref);
  bool is_wanted(const Value& value) const {
    return !full_ || value.identity != 0 ? value.reaches_parameter : !value.blocks_gradient;
  }
  std::byte* gradient_block(NodeRef ref);
  const std::byte* contribution_of(NodeRef ref) const;

  // One batch.
  void run_batch(std::uint32_t index);
  void run_members(std::uint32_t index, std::span<const std::uint32_t> positions,
                   std::span<const NodeRef> members, std::uint32_t items);
  Destination destination(std::uint32_t index, unsigned input, std::span<const NodeRef> members,
                          std::uint32_t items);
  void sum_slots(NodeRef ref);

  RunState& run_;
  SharedGradients shared_;
  bool full_ = false;
  std::vector<TapeGradients> tapes_;  ///< those from `used_` on only keep their memory
  std::size_t used_ = 0;
  std::vector<std::byte*> batch_gradients_;
  std::vector<std::byte*> batch_deferred_;  ///< what kernels left for shared arguments
  std::vector<NodeRef> members_;
  std::vector<std::uint32_t> positions_;
  std::vector<Pending> late_;
  std::vector<const void*> addends_;
  Arena lists_;
};

}  // namespace dynet_like

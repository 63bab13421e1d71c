// The backward pass of one lane: its batches in reverse, gradients summed in recording order.
#pragma once

#include <span>
#include <vector>

#include "dynet_like/exec/needed.h"
#include "dynet_like/exec/shared_contributions.h"

namespace dynet_like {

/// How the contribution of an edge reaches the gradient of its producer. That depends on the graph
/// alone, never on the schedule, so that the bits do not either: one of two may come first, since
/// a + b = b + a; more are summed from slots of their own, in recording order.
enum class Contribution : std::uint8_t {
  written,    ///< where it belongs: the only one there, or the first of two
  added,      ///< the second of two
  slot,       ///< to a slot, whose numbers are the first there
  added_slot  ///< to a slot, whose numbers are added
};

struct NodeGradient {
  std::byte* gradient = nullptr;
  std::uint32_t first_consumer = kNone;  ///< edge; the others follow in recording order
  bool active = false, seeded = false;
  bool has_slots = false;
  /// Has arguments that depend on parameters alone; some that its type does not name.
  bool reads_shared = false, reads_unnamed = false;
};

/// Valid for the inputs of nodes that take part.
struct EdgeGradient {
  std::byte* place = nullptr;  ///< where the kernel writes or adds; null: not wanted from it
  std::uint32_t next = kNone;
  std::uint32_t copies = 1;  ///< contributions: one, or one per item that a value is stretched to
  std::uint32_t batch = kNone;  ///< of the consumer
  Contribution contribution = Contribution::written;
  std::uint8_t group = 0;
};

/// Runs backward passes over the tapes of one lane. Keeps its memory, and the gradients of the last
/// pass.
class Backward {
 public:
  explicit Backward(RunState& run) : run_(run), shared_(run) {}

  /// Finds the gradients of the sum of these values, those of them that are in this lane; `full`:
  /// inputs have gradients too. What parameters and what follows from them alone get is collected.
  void run(std::span<const ValueRef> roots, bool full);
  SharedContributions& contributions() { return shared_; }

  /// The gradient of a node's output in the last pass, or null if it has none.
  const std::byte* gradient_of(NodeRef ref) const;
  void forget() { used_ = false; }
  bool was_run() const { return used_; }

 private:
  struct TapeGradients {
    std::vector<NodeGradient> nodes;
    std::vector<EdgeGradient> edges;
    std::vector<Value> shared_roots;
  };
  /// Elements that contributions cover, and how many there are.
  struct Group {
    std::size_t begin = 0, end = 0;
    std::uint32_t first_edge = kNone, copies = 0;
    std::uint32_t first_batch = kNone, last_batch = 0;  ///< of those that contribute
  };

  /// What a type says of its nodes' inputs: a bit for each of the first 64 that is one argument for
  /// all, of which no kernel writes a gradient: it is collected for the whole pass, or not wanted.
  struct TypeInputs {
    bool known = false, collects = false;
    std::uint64_t collected = 0;

    bool is_collected(std::size_t input) const {
      return input < 64 && (collected >> input & 1) != 0;
    }
  };

  // Which nodes take part, and how their contributions are summed.
  const TypeInputs& inputs_of_type(NodeRef example);
  void seed(std::span<const ValueRef> roots);
  void mark_tape(std::uint32_t tape);
  void link(NodeRef consumer, std::uint32_t edge, ValueId input);
  void choose_contributions(NodeRef ref);
  bool group_contributions(NodeRef ref);
  void clear_gradient(NodeRef ref);
  void place_in_groups(NodeRef ref);
  void place_in_slots(NodeRef ref, std::uint32_t edge, Contribution contribution);
  bool is_wanted(const Value& value) const {
    return !full_ || value.identity != 0 ? value.reaches_parameter : !value.blocks_gradient;
  }
  std::byte* gradient_block(NodeRef ref);
  const std::byte* contribution_of(NodeRef ref) const;
  void contribute_to_shared(std::uint32_t tape);

  // One batch.
  void run_batch(std::uint32_t index);
  void run_members(std::uint32_t index, const NodeType& type);
  const Operand* inputs_of_call(const Batch& batch, const NodeType& type, const Destination* dx);
  Destination destination(unsigned input, std::uint32_t items);
  std::size_t stride_of(NodeRef consumer, unsigned input) const;
  void sum_slots(NodeRef ref);

  RunState& run_;
  SharedContributions shared_;
  bool full_ = false;
  std::vector<TypeInputs> types_;
  std::vector<TapeGradients> tapes_;  ///< those of other lanes are empty
  bool used_ = false;
  std::vector<std::byte*> batch_gradients_;
  std::vector<std::byte*> batch_deferred_;  ///< what kernels left for shared arguments
  // Of the batch that is being run: the nodes that take part, their edges, and their items.
  std::vector<NodeRef> members_;
  std::vector<EdgeGradient*> member_edges_;
  std::vector<std::uint32_t> positions_;
  std::vector<Group> groups_;
  std::vector<const void*> addends_;
  Arena lists_;
};

}  // namespace dynet_like

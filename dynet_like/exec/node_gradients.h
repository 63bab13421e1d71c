// Which nodes take part in a backward pass, where their gradients lie, and how contributions to
// them are summed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/exec/needed.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// How the contribution of an edge reaches the gradient of its producer. That depends on the graph
/// alone, never on the schedule, so that the bits do not either: one of two may come first, since
/// a + b = b + a; more are summed from slots of their own, in recording order.
enum class Contribution : std::uint8_t {
  written,     ///< where it belongs: the only one there, or the first of two
  added,       ///< the second of two
  slot,        ///< to a slot, whose numbers are the first there
  added_slot,  ///< to a slot, whose numbers are added
  collected    ///< of a cell to a shared value: to slots that are added when the pass has ended
};

/// A place in the block of all gradients of a pass: its first byte.
using Place = std::size_t;
inline constexpr Place kNowhere = ~Place{0};

struct NodeGradient {
  Place place = kNowhere;
  std::uint32_t first_consumer = kNone;  ///< edge; the others follow in recording order
  std::uint32_t cell = kNone;            ///< that it is a member of and runs backward with
  std::uint8_t member = 0;               ///< which one
  /// Of a member: bits of the parts of its output that have contributions from outside already.
  std::uint8_t begun_parts = 0;
  bool active = false, seeded = false;
  bool has_slots = false;
  /// Has arguments that depend on parameters alone; some that its type does not name.
  bool reads_shared = false, reads_unnamed = false;
};

/// Valid for the inputs of nodes that take part.
struct EdgeGradient {
  Place place = kNowhere;  ///< where the kernel writes or adds; nowhere: not wanted from it
  std::uint32_t next = kNone;
  /// Contributions: one, or one per item that a value is stretched to, or per reader in a cell.
  std::uint32_t copies = 1;
  std::uint32_t batch = kNone;  ///< of the consumer; of all that is in a cell, the cell's first
  Contribution contribution = Contribution::written;
  std::uint8_t group = 0;
  bool in_order = true;  ///< its copies may be added to one place, one after the other
  /// Its kernels add to every element, and once; else they must not add to what others have added,
  /// whose zeros would keep their sign or not.
  bool adds_once = true;
};

/// What a type says of its nodes' inputs: a bit for each of the first 64 that is one argument for
/// all, of which no kernel writes a gradient: it is collected for the whole pass, or not wanted.
struct TypeInputs {
  bool known = false, collects = false;
  std::uint64_t collected = 0;

  bool is_collected(std::size_t input) const { return input < 64 && (collected >> input & 1) != 0; }
};

/// The part of a plan that tells of nodes. Decides from the graph and its batches alone, and
/// touches no numbers.
class NodeGradients {
 public:
  /// Elements of a gradient, or a part of a node's.
  struct Elements {
    Place place = kNowhere;
    std::size_t count = 0;
    DType dtype = DType::f32;
  };
  /// Elements of a node that contributions cover, and how many there are.
  struct Group {
    std::size_t begin = 0, end = 0;
    std::uint32_t readers = 0;  ///< members of the same cell, which were recorded before all others
    std::uint32_t copies = 0;
    std::uint32_t first_batch = kNone, last_batch = 0;  ///< of those that contribute
    std::uint32_t added_until = kNone;  ///< the batch of the last that is added in place
    bool has_slots = false, adds_once = true;
  };
  /// Where the gradients of a batch lie, and what its kernel leaves for shared arguments.
  struct OfBatch {
    Place gradients = kNowhere, deferred = kNowhere;
  };

  explicit NodeGradients(const RunState& run) : run_(run) {}

  /// Forgets the last pass. `full`: inputs have gradients too.
  void begin(bool full);
  /// This value is one of those whose sum is differentiated.
  void seed(const ValueRef& root);
  /// Decides for a node all of whose consumers are decided, and tells the nodes that it reads.
  void decide(NodeRef ref);

  NodeGradient& at(NodeRef ref) { return tapes_[ref.tape].nodes[ref.node]; }
  const NodeGradient& at(NodeRef ref) const { return tapes_[ref.tape].nodes[ref.node]; }
  std::vector<NodeGradient>& nodes(std::uint32_t tape) { return tapes_[tape].nodes; }
  std::span<const NodeGradient> nodes(std::uint32_t tape) const {
    if (tape >= tapes_.size()) return {};
    return tapes_[tape].nodes;
  }
  EdgeGradient* edges(std::uint32_t tape) { return tapes_[tape].edges.data(); }
  const EdgeGradient* edges(std::uint32_t tape) const { return tapes_[tape].edges.data(); }
  const OfBatch& of_batch(std::uint32_t batch) const { return batches_[batch]; }
  /// Roots that are shared values.
  std::span<const Value> shared_roots(std::uint32_t tape) const {
    return tapes_[tape].shared_roots;
  }
  /// Before anything runs: what begins as zeros, and where ones are added after that.
  std::span<const Elements> zeros() const { return zeros_; }
  std::span<const Elements> ones() const { return ones_; }
  /// The size of the block.
  std::size_t bytes() const { return bytes_; }
  const TypeInputs& inputs_of_type(NodeRef example);
  bool is_wanted(const Value& value) const {
    return !full_ || value.identity != 0 ? value.reaches_parameter : !value.blocks_gradient;
  }
  bool is_open(NodeRef consumer, std::uint32_t edge) const;

  // For cells, which decide for their members.
  /// By cell: bits of the members that nodes outside read.
  std::vector<std::uint64_t> read_outside;
  Place reserve(std::size_t bytes);
  void reserve_batch(std::uint32_t batch);
  void give_place(NodeRef ref);
  void insert_edge(NodeRef producer, std::uint32_t edge);
  bool has_one_reader(NodeRef ref, const NodeGradient& node) const;
  void choose_contributions(NodeRef ref);
  /// Empty; parts that are known already may be entered.
  std::vector<Group>& begin_groups() {
    groups_.clear();
    return groups_;
  }
  /// Finds the other parts of the node that contributions cover; false if different ones overlap.
  bool group_contributions(NodeRef ref);
  void place_in_groups(NodeRef ref);

 private:
  struct TapeGradients {
    std::vector<NodeGradient> nodes;
    std::vector<EdgeGradient> edges;
    std::vector<Value> shared_roots;
  };

  void activate(NodeGradient& node) {
    node.active = true;
    if (node.cell != kNone) read_outside[node.cell] |= std::uint64_t{1} << node.member;
  }
  void link(NodeRef consumer, std::uint32_t edge, ValueId input);
  void link_shared(NodeRef consumer, std::uint32_t edge, const Value& value);
  bool has_parts_per_item(NodeRef ref) const;
  void clear(NodeRef ref);
  void place_behind_readers(NodeRef ref, std::uint32_t edge);
  void place_in_node(NodeRef ref, std::uint32_t edge, bool adds);
  void place_in_slots(NodeRef ref, std::uint32_t edge, Contribution contribution);

  const RunState& run_;
  bool full_ = false;
  std::vector<TapeGradients> tapes_;  ///< those of other lanes are empty
  std::vector<OfBatch> batches_;
  std::vector<TypeInputs> types_;
  std::vector<TypeId> met_types_;
  std::vector<Elements> zeros_, ones_;
  std::size_t bytes_ = 0;
  std::vector<Group> groups_;  ///< of the node that is being decided
};

}  // namespace dynet_like::detail

// The plan of a backward pass, made before anything runs: which nodes take part, where their
// gradients lie, and how contributions to them are summed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/sum_order.h"
#include "dynet_like/exec/needed.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// How the contribution of an edge reaches the gradient of its producer. Contributions are summed
/// in the reverse of the order in which they were recorded, whatever the schedule is, so that the
/// bits do not depend on it. Since batches run backward from the last to the first, most come in
/// that order. Of two contributions either may come first, since a + b = b + a.
enum class Arrival : std::uint8_t {
  written,     ///< in place: the only contribution there, or the first of two
  added,       ///< in place, to the earlier contributions
  slot,        ///< to a slot, whose numbers are the first to arrive
  added_slot,  ///< to a slot, whose numbers are added later
  listed       ///< by a recursion: to slots that it lists, whose numbers are added later
};

/// A byte offset in the block of all gradients of a pass.
using Place = std::size_t;
inline constexpr Place kNowhere = ~Place{0};

struct NodeGradient {
  Place place = kNowhere;
  /// Edges: the one recorded last; `next` links the others in reverse order.
  std::uint32_t first_consumer = kNone, last_consumer = kNone;
  bool active = false, seeded = false;
  bool has_slots = false;
  /// Whether it has arguments of parameters alone; whether its type does not contain some of these.
  bool reads_shared = false, reads_unnamed = false;
};

/// Valid for the inputs of nodes that take part.
struct EdgeGradient {
  Place place = kNowhere;  ///< where the kernel writes or adds; nowhere: not wanted from it
  std::uint32_t next = kNone;
  /// The number of contributions: one, one per item that a value is stretched to, or many
  /// (recursion).
  std::uint32_t copies = 1;
  std::uint32_t batch = kNone;  ///< the batch of the consumer
  Arrival arrival = Arrival::written;
  std::uint8_t group = 0;
  bool in_order = true;  ///< its copies may be added to one place one after the other
  bool is_recursion = false;
};

/// A type's facts about inputs: a bit for each of the first 64 inputs that is one argument for all
/// items and whose gradient no kernel writes, since it is collected over the pass or not wanted.
struct TypeInputs {
  bool known = false, collects = false;
  std::uint64_t collected = 0;

  bool is_collected(std::size_t input) const { return input < 64 && (collected >> input & 1) != 0; }
};

class GradientPlan;

/// Decides how the contributions to the gradient of one node are summed. Contributions that cover
/// the same elements form a group.
class NodeSums {
 public:
  NodeSums(const RunState& run, GradientPlan& plan) : run_(run), plan_(plan) {}

  /// All consumers of the node must be linked, and it must have its place.
  void choose(NodeRef ref);

 private:
  /// A range of elements of a node that contributions cover, and the number of contributions.
  struct Group {
    std::size_t begin = 0, end = 0;
    std::uint32_t copies = 0;
    std::uint32_t first_batch = kNone, last_batch = 0;  ///< of the contributions
    SumOrder order;
  };

  bool has_one_reader(NodeRef ref) const;
  bool has_parts_per_item(NodeRef ref) const;
  bool find_groups(NodeRef ref);
  void place_in_groups(NodeRef ref);
  void place_in_node(NodeRef ref, std::uint32_t edge, bool adds);
  void place_in_slots(NodeRef ref, std::uint32_t edge, Arrival arrival);

  const RunState& run_;
  GradientPlan& plan_;
  std::vector<Group> groups_;  ///< of the current node
};

/// Decides from the graph and the batches of a lane alone, without numbers. Keeps its memory.
class GradientPlan {
 public:
  /// The elements of a gradient, or of a part of a node's gradient.
  struct Elements {
    Place place = kNowhere;
    std::size_t count = 0;
    DType dtype = DType::f32;
  };
  /// Where the gradients of a batch lie, and the numbers that its kernel leaves for weights.
  struct OfBatch {
    Place gradients = kNowhere, deferred = kNowhere;
  };

  explicit GradientPlan(const RunState& run) : run_(run), sums_(run, *this) {}

  /// Plans for the sum of those of these values that are in this lane; `full`: inputs have
  /// gradients, too.
  void make(std::span<const ValueRef> roots, bool full);
  /// For debugging: a line for every node that takes part, the last first.
  std::string to_string() const;

  NodeGradient& at(NodeRef ref) { return tapes_[ref.tape].nodes[ref.node]; }
  const NodeGradient& at(NodeRef ref) const { return tapes_[ref.tape].nodes[ref.node]; }
  std::span<const NodeGradient> nodes(std::uint32_t tape) const {
    if (tape >= tapes_.size()) return {};
    return tapes_[tape].nodes;
  }
  EdgeGradient* edges(std::uint32_t tape) { return tapes_[tape].edges.data(); }
  const EdgeGradient* edges(std::uint32_t tape) const { return tapes_[tape].edges.data(); }
  const OfBatch& of_batch(std::uint32_t batch) const { return batches_[batch]; }
  /// The roots that are shared values.
  std::span<const Value> shared_roots(std::uint32_t tape) const {
    return tapes_[tape].shared_roots;
  }
  /// Before anything runs, zeros() are set to zero, and then ones are added at ones().
  std::span<const Elements> zeros() const { return zeros_; }
  std::span<const Elements> ones() const { return ones_; }
  /// The size of the block, in bytes.
  std::size_t bytes() const { return bytes_; }
  const TypeInputs& inputs_of_type(NodeRef example);
  bool is_wanted(const Value& value) const {
    return !full_ || value.identity != 0 ? value.reaches_parameter : !value.blocks_gradient;
  }
  bool is_open(NodeRef consumer, std::uint32_t edge) const;

  // For NodeSums.
  /// Reserves memory in the block.
  Place reserve(std::size_t bytes);
  /// Makes the gradient of the node start from zeros.
  void clear(NodeRef ref);

 private:
  struct TapeGradients {
    std::vector<NodeGradient> nodes;
    std::vector<EdgeGradient> edges;
    std::vector<Value> shared_roots;
  };

  void begin(bool full);
  /// Marks a value as one of those whose sum is differentiated.
  void seed(const ValueRef& root);
  /// Decides for a node whose consumers are all decided, and links it to its inputs.
  void decide(NodeRef ref);
  std::string line_of(NodeRef ref) const;
  void reserve_batch(std::uint32_t batch);
  void give_place(NodeRef ref);
  void insert_edge(NodeRef producer, std::uint32_t edge);
  void link(NodeRef consumer, std::uint32_t edge, ValueId input);
  void link_shared(NodeRef consumer, std::uint32_t edge, const Value& value);

  const RunState& run_;
  bool full_ = false;
  std::vector<TapeGradients> tapes_;  ///< empty for tapes of other lanes
  std::vector<OfBatch> batches_;
  std::vector<TypeInputs> types_;
  std::vector<TypeId> met_types_;
  std::vector<Elements> zeros_, ones_;
  std::size_t bytes_ = 0;
  NodeSums sums_;
};

}  // namespace dynet_like::detail

// A backward pass before anything of it runs: which nodes take part, where their gradients lie, and
// how contributions to them are summed.
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
/// that order. One of two may come first, since a + b = b + a.
enum class Arrival : std::uint8_t {
  written,     ///< where it belongs: the only one there, or the first of two
  added,       ///< where it belongs, to what is there
  slot,        ///< to a slot, whose numbers are the first there
  added_slot,  ///< to a slot, whose numbers are added
  listed       ///< of a recursion: to slots that it keeps a list of, whose numbers are added
};

/// A place in the block of all gradients of a pass: its first byte.
using Place = std::size_t;
inline constexpr Place kNowhere = ~Place{0};

struct NodeGradient {
  Place place = kNowhere;
  /// Edges: the one that was recorded last; the others follow in the reverse order.
  std::uint32_t first_consumer = kNone, last_consumer = kNone;
  bool active = false, seeded = false;
  bool has_slots = false;
  /// Has arguments that depend on parameters alone; some that its type does not name.
  bool reads_shared = false, reads_unnamed = false;
};

/// Valid for the inputs of nodes that take part.
struct EdgeGradient {
  Place place = kNowhere;  ///< where the kernel writes or adds; nowhere: not wanted from it
  std::uint32_t next = kNone;
  /// Contributions: one, or one per item that a value is stretched to; of a recursion many.
  std::uint32_t copies = 1;
  std::uint32_t batch = kNone;  ///< of the consumer
  Arrival arrival = Arrival::written;
  std::uint8_t group = 0;
  bool in_order = true;  ///< its copies may be added to one place, one after the other
  bool is_recursion = false;
};

/// What a type says of its nodes' inputs: a bit for each of the first 64 that is one argument for
/// all, of which no kernel writes a gradient: it is collected for the whole pass, or not wanted.
struct TypeInputs {
  bool known = false, collects = false;
  std::uint64_t collected = 0;

  bool is_collected(std::size_t input) const { return input < 64 && (collected >> input & 1) != 0; }
};

class GradientPlan;

/// How the contributions to the gradient of one node are summed: those that cover the same elements
/// together.
class NodeSums {
 public:
  NodeSums(const RunState& run, GradientPlan& plan) : run_(run), plan_(plan) {}

  /// All consumers of the node are linked, and it has its place.
  void choose(NodeRef ref);

 private:
  /// Elements of a node that contributions cover, and how many there are.
  struct Group {
    std::size_t begin = 0, end = 0;
    std::uint32_t copies = 0;
    std::uint32_t first_batch = kNone, last_batch = 0;  ///< of those that contribute
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
  std::vector<Group> groups_;  ///< of the node that is being decided
};

/// Decides from the graph and the batches of a lane alone, and touches no numbers. Keeps its memory
/// from pass to pass.
class GradientPlan {
 public:
  /// Elements of a gradient, or a part of a node's.
  struct Elements {
    Place place = kNowhere;
    std::size_t count = 0;
    DType dtype = DType::f32;
  };
  /// Where the gradients of a batch lie, and what its kernel leaves for shared arguments.
  struct OfBatch {
    Place gradients = kNowhere, deferred = kNowhere;
  };

  explicit GradientPlan(const RunState& run) : run_(run), sums_(run, *this) {}

  /// For the sum of these values, those of them that are in this lane; `full`: inputs have
  /// gradients too.
  void make(std::span<const ValueRef> roots, bool full);
  /// For people: a line for every node that takes part, the last first.
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

  // For those who decide for a node.
  /// Memory of so many bytes in the block.
  Place reserve(std::size_t bytes);
  /// The gradient of the node begins as zeros.
  void clear(NodeRef ref);

 private:
  struct TapeGradients {
    std::vector<NodeGradient> nodes;
    std::vector<EdgeGradient> edges;
    std::vector<Value> shared_roots;
  };

  void begin(bool full);
  /// This value is one of those whose sum is differentiated.
  void seed(const ValueRef& root);
  /// Decides for a node all of whose consumers are decided, and tells the nodes that it reads.
  void decide(NodeRef ref);
  std::string line_of(NodeRef ref) const;
  void reserve_batch(std::uint32_t batch);
  void give_place(NodeRef ref);
  void insert_edge(NodeRef producer, std::uint32_t edge);
  void link(NodeRef consumer, std::uint32_t edge, ValueId input);
  void link_shared(NodeRef consumer, std::uint32_t edge, const Value& value);

  const RunState& run_;
  bool full_ = false;
  std::vector<TapeGradients> tapes_;  ///< those of other lanes are empty
  std::vector<OfBatch> batches_;
  std::vector<TypeInputs> types_;
  std::vector<TypeId> met_types_;
  std::vector<Elements> zeros_, ones_;
  std::size_t bytes_ = 0;
  NodeSums sums_;
};

}  // namespace dynet_like::detail

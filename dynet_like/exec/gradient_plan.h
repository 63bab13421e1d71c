// The plan of a backward pass, made before anything runs: which nodes take part, where their
// gradients lie, and how contributions to them are summed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/core/sum_order.h"
#include "dynet_like/exec/needed.h"
#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// A byte offset in the block of all gradients of a pass.
using BlockOffset = std::size_t;
inline constexpr BlockOffset kNowhere = ~BlockOffset{0};

/// The gradient of a node. If it has a batch, it lies in the gradients of the batch, as its value
/// lies in the values of the batch.
struct NodeGradient {
  /// Edges: the one recorded last; `link` links the others in reverse order.
  std::uint32_t first_consumer = kNone, last_consumer = kNone;
  std::uint32_t last_batch = kNone;  ///< of the contributions so far, while they come in order
  /// Its entries in GradientPlan::places. The first one of a source is its gradient.
  std::uint32_t first_place = 0, places = 0;
  bool active = false, seeded = false;
  std::uint8_t ordered = 0;  ///< how many contributions come in order; 2 means two or more
  /// Whether they do not all come in order, or some are not of the whole node.
  bool is_mixed = false;
  /// Whether it has arguments of parameters alone; whether its type does not contain some of these.
  bool reads_shared = false, reads_unnamed = false;
};

/// How an input of a node that takes part contributes to the gradient of what it reads.
struct EdgeGradient {
  /// The next consumer while the plan is made; then, if it has a place, the index of that.
  std::uint32_t link = kNone;
  std::uint32_t batch = kNone;  ///< of the consumer
  Arrival arrival = Arrival::written;
  /// Whether the kernel writes or adds it: at its place or, without one, in the gradients of the
  /// producer's batch.
  bool is_wanted = false, has_place = false;
  /// Whether it may be several contributions.
  bool is_irregular = false;
};

/// A place outside of the gradients of batches: a slot, or the gradient of a source. Nowhere: a
/// recursion lists contributions that wait, each with a slot of its own.
struct ContributionPlace {
  BlockOffset at = kNowhere;
  std::uint32_t edge = kNone;
  Arrival arrival = Arrival::written;
  std::uint32_t copies = 1;
  /// The part of the node that the consumer reads, as in Value.
  std::uint32_t offset = 0, elements = 0, items = 1, stride = 0;

  std::uint32_t slots() const { return std::max(copies, items); }
  /// The distance in elements from item to item; 0 if all share one: kernels sum the contributions
  /// of a node's items to an input with any number of columns.
  std::uint32_t step() const {
    if (slots() == 1) return 0;
    return waits(arrival) ? elements : stride;
  }
};

/// A type's facts about inputs: a bit for each of the first 64 inputs that is one argument for all
/// items and whose gradient no kernel writes, since it is collected over the pass or not wanted.
struct TypeInputs {
  bool known = false, collects = false, is_recursion = false;
  std::uint32_t inputs = 0;
  std::uint64_t collected = 0;

  bool is_collected(std::size_t input) const { return input < 64 && (collected >> input & 1) != 0; }
};

/// Plain data, which make_gradient_plan writes and the pass reads.
struct GradientPlan {
  /// Elements of a node's gradient.
  struct Elements {
    NodeRef node;
    std::size_t first = 0, count = 0;
    DType dtype = DType::f32;
  };
  /// The nodes of a batch that take part, where its gradients lie, and the numbers that its kernel
  /// leaves for weights.
  struct OfBatch {
    std::uint32_t active = 0;
    bool has_slots = false;
    BlockOffset gradients = kNowhere, deferred = kNowhere;
  };
  /// Batches whose values touch. Their gradients touch, too.
  struct Stretch {
    const std::byte* values = nullptr;
    std::size_t bytes = 0;
    BlockOffset gradients = 0;
  };
  struct OfTape {
    std::vector<NodeGradient> nodes;
    std::vector<EdgeGradient> edges;
    std::vector<Value> shared_roots;  ///< the roots that are shared values
  };

  NodeGradient& node(NodeRef ref) { return tapes[ref.tape].nodes[ref.node]; }
  const NodeGradient& node(NodeRef ref) const { return tapes[ref.tape].nodes[ref.node]; }
  /// Reserves memory in the block.
  BlockOffset reserve(std::size_t size) {
    const BlockOffset at = bytes;
    bytes += (size + 63) / 64 * 64;
    return at;
  }
  void add_place(NodeGradient& to, EdgeGradient& edge, const ContributionPlace& place) {
    if (to.places++ == 0) to.first_place = static_cast<std::uint32_t>(places.size());
    edge.has_place = true;
    edge.link = static_cast<std::uint32_t>(places.size());
    places.push_back(place);
  }

  std::vector<OfTape> tapes;  ///< empty for tapes of other lanes
  std::vector<OfBatch> batches;
  std::vector<ContributionPlace> places;
  std::vector<Stretch> stretches;  ///< by ascending addresses
  std::vector<TypeInputs> types;
  std::vector<TypeId> met_types;
  /// Before anything runs, these are set to zero, and then ones are added at `ones`.
  std::vector<Elements> zeros, ones;
  std::size_t bytes = 0;  ///< the size of the block of all gradients
};

/// Plans for the sum of those of these values that are in this lane; `full`: inputs have gradients,
/// too. Decides from the graph and the batches alone, without numbers. Uses the memory of the plan.
void make_gradient_plan(const RunState& run, std::span<const ValueRef> roots, bool full,
                        GradientPlan& plan);

/// A contribution to the gradient of a node, and the group of those that it is summed with.
struct PlannedContribution {
  std::uint32_t edge = 0;
  const Value* value = nullptr;  ///< the part of the node that the consumer reads
  /// One, one per item that a value is stretched to, or many (recursion).
  std::uint32_t copies = 1;
  bool is_recursion = false;
  std::uint8_t group = 0;

  /// Whether its copies may be added to one place one after the other.
  bool in_order() const { return copies == 1 || is_recursion; }
};

/// A range of elements of a node that contributions cover, and the number of contributions.
struct SumGroup {
  std::size_t begin = 0, end = 0;
  std::uint32_t copies = 0;
  std::uint32_t first_batch = kNone, last_batch = 0;  ///< of the contributions
  SumOrder order;
};

/// Memory for choose_sums.
struct SumLists {
  std::vector<PlannedContribution> contributions;
  std::vector<SumGroup> groups;
};

/// Decides how the contributions to the gradient of a node are summed. All its consumers must be
/// linked.
void choose_sums(const RunState& run, GradientPlan& plan, NodeRef ref, SumLists& lists);

/// Makes the gradient of a node start from zeros.
void clear_gradient(const RunState& run, GradientPlan& plan, NodeRef ref);

/// The node to which an edge belongs.
NodeId consumer_of(const Tape& tape, std::uint32_t edge);

/// The gradients of a backward pass: their plan, and the block in which they lie.
struct PassGradients {
  std::byte* at(BlockOffset offset) const {
    return offset == kNowhere ? nullptr : block.data() + offset;
  }
  /// The gradient of a node that takes part.
  std::byte* of(const RunState& run, NodeRef ref) const;
  /// The place of a contribution that is wanted, to this part of a node of the tape.
  std::byte* place_of(const RunState& run, std::uint32_t tape, const EdgeGradient& edge,
                      const Value& value) const;
  /// The edges of a node: how each input contributes.
  const EdgeGradient* edges_of(const RunState& run, NodeRef ref) const {
    return plan.tapes[ref.tape].edges.data() + run.tape_lists[ref.tape].nodes[ref.node].first_edge;
  }

  GradientPlan plan;
  Block block;
};

}  // namespace dynet_like::detail

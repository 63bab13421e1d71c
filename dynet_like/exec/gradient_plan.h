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

/// A byte offset in the block of all gradients of a pass.
using BlockOffset = std::size_t;
inline constexpr BlockOffset kNowhere = ~BlockOffset{0};

struct NodeGradient {
  BlockOffset at = kNowhere;
  /// Edges: the one recorded last; `next` links the others in reverse order.
  std::uint32_t first_consumer = kNone, last_consumer = kNone;
  bool active = false, seeded = false;
  bool has_slots = false;
  /// Whether it has arguments of parameters alone; whether its type does not contain some of these.
  bool reads_shared = false, reads_unnamed = false;
};

/// Valid for the inputs of nodes that take part.
struct EdgeGradient {
  BlockOffset at = kNowhere;  ///< where the kernel writes or adds; nowhere: not wanted from it
  std::uint32_t next = kNone;
  /// The number of contributions: one, one per item that a value is stretched to, or many
  /// (recursion).
  std::uint32_t copies = 1;
  std::uint32_t batch = kNone;  ///< the batch of the consumer
  /// Of two contributions either may come first, since a + b = b + a.
  Arrival arrival = Arrival::written;
  std::uint8_t group = 0;
  bool in_order = true;  ///< its copies may be added to one place one after the other
  bool is_recursion = false;

  /// A recursion lists its contributions, each with a slot of its own, if they must wait.
  bool is_listed() const { return is_recursion && waits(arrival); }
};

/// A type's facts about inputs: a bit for each of the first 64 inputs that is one argument for all
/// items and whose gradient no kernel writes, since it is collected over the pass or not wanted.
struct TypeInputs {
  bool known = false, collects = false;
  std::uint64_t collected = 0;

  bool is_collected(std::size_t input) const { return input < 64 && (collected >> input & 1) != 0; }
};

/// Plain data, which make_gradient_plan writes and the pass reads.
struct GradientPlan {
  /// The elements of a gradient, or of a part of a node's gradient.
  struct Elements {
    BlockOffset at = kNowhere;
    std::size_t count = 0;
    DType dtype = DType::f32;
  };
  /// Where the gradients of a batch lie, and the numbers that its kernel leaves for weights.
  struct OfBatch {
    BlockOffset gradients = kNowhere, deferred = kNowhere;
  };
  struct OfTape {
    std::vector<NodeGradient> nodes;
    std::vector<EdgeGradient> edges;
    std::vector<Value> shared_roots;  ///< the roots that are shared values
  };

  NodeGradient& node(NodeRef ref) { return tapes[ref.tape].nodes[ref.node]; }
  const NodeGradient& node(NodeRef ref) const { return tapes[ref.tape].nodes[ref.node]; }

  std::vector<OfTape> tapes;  ///< empty for tapes of other lanes
  std::vector<OfBatch> batches;
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

/// For debugging: a line for every node that takes part, the last first.
std::string to_string(const RunState& run, const GradientPlan& plan);

/// A range of elements of a node that contributions cover, and the number of contributions.
struct SumGroup {
  std::size_t begin = 0, end = 0;
  std::uint32_t copies = 0;
  std::uint32_t first_batch = kNone, last_batch = 0;  ///< of the contributions
  SumOrder order;
};

/// Decides how the contributions to the gradient of a node are summed. All its consumers must be
/// linked, and it must have its place. `groups` only provides memory.
void choose_sums(const RunState& run, GradientPlan& plan, NodeRef ref,
                 std::vector<SumGroup>& groups);

/// Reserves memory in the block.
inline BlockOffset reserve(GradientPlan& plan, std::size_t bytes) {
  const BlockOffset at = plan.bytes;
  plan.bytes += (bytes + 63) / 64 * 64;
  return at;
}
/// Makes the gradient of a node start from zeros.
void clear_gradient(const RunState& run, GradientPlan& plan, NodeRef ref);

/// The gradients of a backward pass: their plan, and the block in which they lie.
struct PassGradients {
  std::byte* at(BlockOffset offset) const {
    return offset == kNowhere ? nullptr : block.data() + offset;
  }
  /// The edges of a node: how each input contributes.
  const EdgeGradient* edges_of(const RunState& run, NodeRef ref) const {
    return plan.tapes[ref.tape].edges.data() + run.tape(ref).node(ref.node).first_edge;
  }

  GradientPlan plan;
  Block block;
};

}  // namespace dynet_like::detail

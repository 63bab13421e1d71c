// The state of one lane's runs: its batches and counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "dynet_like/device/kernel_clock.h"
#include "dynet_like/device/queue.h"
#include "dynet_like/core/block_pool.h"
#include "dynet_like/exec/common_state.h"
#include "dynet_like/exec/repeated_vertices.h"
#include "dynet_like/exec/rows.h"
#include "dynet_like/exec/run_counts.h"

namespace dynet_like::detail {

struct RecursionBatch;

/// Nodes that ran together. `out_bytes` is the size of their outputs.
struct Batch : Rows {
  std::uint32_t first_node = 0, nodes = 0;
  std::uint32_t left = 0;         ///< nodes that have not been reverted or forgotten
  std::uint32_t search_from = 0;  ///< where the next search for a member begins
  std::size_t out_bytes = 0;
  std::uint32_t few = kNone;   ///< when at most so many nodes are left, they are moved together
  bool is_handed_out = false;  ///< a tensor points to a value, so nothing may move
  std::uint64_t pass = 0;      ///< the value of CommonState::passes when it ran
  bool shared = false;         ///< its nodes have identities: they are computed once for all tapes
  std::shared_ptr<RecursionBatch>
      recursion;  ///< of nodes that are recursions, for the backward pass
};

/// Where the lists of a tape begin, side by side for all tapes, since batches jump between tapes.
struct TapeLists {
  const Node* nodes;
  const ValueId* edges;
  const Value* values;
  NodeState* states;
};

/// The inputs of a member of a batch.
struct NodeInputs {
  const ValueId* ids;
  const TapeLists* tape;

  const Value& value(unsigned j) const { return tape->values[ids[j]]; }
  const std::byte* place(unsigned j, std::size_t element) const {
    return tape->states[value(j).node].value + value(j).offset * element;
  }
};

/// What recursions keep from batch to batch.
struct RecursionState {
  Arena gradients;  ///< of the last backward pass, inside programs
  RepeatSearches searches;
};

/// The run of consecutive tapes, one of several in parallel. Each writes its own state, and in
/// CommonState the nodes of its own tapes. Shared nodes run in the first one, before the others.
struct RunState {
  explicit RunState(CommonState& common_state)
      : common(common_state),
        recursions{Arena(common.memory), {}},
        values(common.memory),
        held(common.timeline) {}

  const GraphOptions& options() const { return common.options; }
  std::vector<TapeState>& tapes() const { return common.tapes; }
  std::vector<SharedValue>& shared() const { return common.shared; }
  const NodeState& state(NodeRef ref) const { return common.state(ref); }
  NodeState& state(NodeRef ref) { return common.state(ref); }
  const Tape& tape(NodeRef ref) const { return common.tape(ref); }
  std::uint32_t items_of(NodeRef ref) const { return common.items_of(ref); }
  Identity identity_of(NodeRef ref) const { return common.identity_of(ref); }
  const TypeTable& types() const { return common.types(); }
  std::span<const NodeRef> nodes_of(const Batch& batch) const {
    return std::span(nodes).subspan(batch.first_node, batch.nodes);
  }
  /// Call this before a pass, since recording may have moved the lists.
  void find_tapes() {
    tape_lists.clear();
    for (TapeState& state : tapes()) {
      tape_lists.push_back({state.tape->nodes().data(), state.tape->edges().data(),
                            state.tape->values().data(), state.nodes.data()});
    }
  }
  const Kernels& kernels(const NodeType& type) {
    if (kernels_of_type.size() <= type.id) kernels_of_type.resize(types().type_count());
    const Kernels*& known = kernels_of_type[type.id];
    if (known == nullptr) known = &queue->kernels(*type.op);
    return *known;
  }
  /// The track for events of its thread; null without a timeline.
  TimelineTrack* track() const { return clock == nullptr ? nullptr : clock->track; }
  /// Reports the bytes of values, or of values and gradients, to the timeline, if there is one.
  void note_held() {
    if (common.timeline != nullptr) held.note_values(values.arena().used());
  }
  void note_held(std::size_t gradients) {
    if (common.timeline != nullptr) held.note(values.arena().used(), gradients, true);
  }

  CommonState& common;

  std::uint32_t first_tape = 0, end_tape = 0;
  Queue* queue = nullptr;
  KernelClock* clock = nullptr;  ///< of this queue, if time is measured
  std::vector<const Kernels*> kernels_of_type;
  std::vector<TapeLists> tape_lists;  ///< of all tapes, since shared values may be of any

  std::vector<Batch> batches;
  std::size_t batches_after_drop = 0;  ///< see drop_empty_batches
  std::vector<NodeRef> nodes;
  std::vector<NodeInputs> node_inputs;  ///< of the running batch

  RecursionState recursions;

  BlockPool values;  ///< outputs and saved items
  Arena lists;       ///< pointers and numbers of batches, for this process
  HeldBytes held;

  RunCounts counts;
};

/// During its lifetime, the time that the lane's queue spends in kernels is also added to
/// `seconds`. `nodes`: the number of nodes of the one kernel call, for a timeline.
class KernelTime {
 public:
  KernelTime(const RunState& run, double& seconds, std::size_t nodes = 0)
      : clock_(run.clock), seconds_(seconds) {
    if (clock_ == nullptr) return;
    begin_ = clock_->seconds;
    clock_->nodes = static_cast<std::uint32_t>(nodes);
  }
  KernelTime(const KernelTime&) = delete;
  KernelTime& operator=(const KernelTime&) = delete;
  ~KernelTime() {
    if (clock_ != nullptr) seconds_ += clock_->seconds - begin_;
  }

 private:
  KernelClock* clock_;
  double& seconds_;
  double begin_ = 0;
};

}  // namespace dynet_like::detail

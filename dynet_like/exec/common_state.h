// The state that all lanes of a run share: the nodes of all tapes, and shared values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/core/timeline.h"
#include "dynet_like/core/timeline_track.h"
#include "dynet_like/device/packed_matrices.h"
#include "dynet_like/exec/node_ref.h"
#include "dynet_like/exec/options.h"

namespace dynet_like::detail {

/// Where the value of a node lies (null: not computed), and the batch that computed it.
struct NodeState {
  static constexpr std::uint32_t kGone = kNone - 1, kNotPlanned = kNone >> 1;

  std::byte* value = nullptr;
  std::uint32_t batch = kNone;  ///< kNone: it has not run; kGone: the batch was removed
  std::uint32_t planned : 31 = kNotPlanned;  ///< its index among the nodes that are planned
  std::uint32_t is_needed : 1 = 0;           ///< while needed nodes are collected

  bool has_run() const { return batch != kNone; }
  bool has_batch() const { return batch < kGone; }
};

/// Nodes `first` to `end` - 1 of a tape.
struct NodeRange {
  NodeId first = 0, end = 0;
};

struct TapeState {
  Tape* tape = nullptr;
  std::vector<NodeState> nodes;
  /// In inference: nodes whose values are freed after their last reader in the run that computes
  /// them. In order; no two touch.
  std::vector<NodeRange> temporaries;
};

/// An input of a shared node: a part of another shared value.
struct SharedInput {
  Value value;
  Identity producer = 0;
};

/// A parameter, or a value that depends on parameters and constants alone, computed once for all
/// tapes. It outlives the node for which it was first needed.
struct SharedValue {
  ParameterStorage* parameter = nullptr;
  TypeId type = 0;
  std::uint32_t items = 1, batch = kNone;
  std::byte* value = nullptr;
  std::vector<SharedInput> inputs;
  /// Packed copies of a value that is not a parameter, or of a parameter whose memory is held.
  std::shared_ptr<PackedMatrices> packed;
  std::uint64_t pass = 0;  ///< the value of CommonState::passes when it was last found
  /// The node that stands for the value while it is computed.
  NodeRef representative;
  bool pending = false;
  /// Unless it is a parameter: the sum of its consumers' contributions in this pass.
  std::byte* gradient = nullptr;
  bool has_gradient = false;
  bool is_met = false;  ///< by the present tapes
};

/// The state of a parameter when a run read it.
struct ReadParameter {
  explicit ReadParameter(const ParameterStorage& storage)
      : parameter(&storage), seen(storage.values.snapshot()) {}

  /// Whether its values may have changed; and whether they have changed, as far as that can be
  /// detected: writes to the memory of a table that was handed out are not. The second function
  /// reads the whole parameter if its memory was handed out.
  bool may_have_changed() const { return parameter->values.may_differ(seen); }
  bool has_changed() const { return parameter->values.differ(seen); }

  const ParameterStorage* parameter;
  detail::ParameterValues::Snapshot seen;
};

/// The parameters that were read since values were last forgotten.
class ReadParameters {
 public:
  void add(const ParameterStorage& parameter) { all_.emplace_back(parameter); }
  /// A known parameter is needed again; it may now have a trainer that postpones updates of rows.
  void meet(const ParameterStorage& parameter) {
    has_lazy_tables_ |= parameter.refresher != nullptr;
  }
  void clear() {
    all_.clear();
    has_lazy_tables_ = false;
  }
  /// Programs that hold a parameter's memory may have written to it.
  void take_writes() const {
    for (const ReadParameter& read : all_) read.parameter->values.take_writes();
  }
  /// Whether a table has rows that are brought up to date when they are read.
  bool has_lazy_tables() const { return has_lazy_tables_; }
  /// Whether a parameter may have changed since its values were read. `look_at_memory`: also looks
  /// for writes to memory that was handed out.
  bool may_have_changed(bool look_at_memory) const;
  /// Throws StateError if a parameter has changed: gradients would mix old values with new weights.
  void check(const char* user);

 private:
  std::vector<ReadParameter> all_;
  bool has_lazy_tables_ = false;
};

/// The state that all lanes of a run share. All tapes have one TypeTable.
struct CommonState {
  explicit CommonState(const GraphOptions& graph_options)
      : options(graph_options),
        memory(options.device->memory()),
        timeline(options.timeline == nullptr ? nullptr : options.timeline->state()),
        inputs(memory),
        shared_values(memory) {
    if (timeline != nullptr) options.measure_time = true;
    if (options.threads == 0) options.threads = std::max(1u, std::thread::hardware_concurrency());
  }

  const NodeState& state(NodeRef ref) const { return tapes[ref.tape].nodes[ref.node]; }
  NodeState& state(NodeRef ref) { return tapes[ref.tape].nodes[ref.node]; }
  const Tape& tape(NodeRef ref) const { return *tapes[ref.tape].tape; }
  /// The whole output of a node, and its identity (0: none).
  const Value& output(NodeRef ref) const {
    const Tape& tape = *tapes[ref.tape].tape;
    return tape.value(tape.node(ref.node).value);
  }
  std::uint32_t items_of(NodeRef ref) const { return tape(ref).items_of(ref.node); }
  Identity identity_of(NodeRef ref) const { return output(ref).identity; }
  const TypeTable& types() const { return tapes.front().tape->types(); }
  bool is_on_cpu() const { return memory == nullptr; }
  /// Whether repeated vertices run once in training, too.
  bool shares_in_training() const {
    return options.share_repeated && !options.inference && is_on_cpu();
  }
  /// The calling thread's track; null without GraphOptions::timeline.
  TimelineTrack* track() const { return timeline == nullptr ? nullptr : &timeline->track(); }
  /// Tells whether these tapes are being run.
  Running& running() { return tapes.empty() ? runs_nothing : types().running; }

  /// The shared value with this identity, noted as used by the tapes.
  SharedValue& meet(Identity identity) {
    SharedValue& value = shared[identity];
    if (!value.is_met) {
      met_shared.push_back(identity);
      value.is_met = true;
    }
    return value;
  }
  /// Forgets shared values, in time proportional to how many were met. Allocates nothing.
  void forget_shared() {
    for (const Identity identity : met_shared) shared[identity] = SharedValue();
    met_shared.clear();
  }

  GraphOptions options;
  Running runs_nothing;
  std::vector<TapeState> tapes;
  std::vector<SharedValue> shared;  ///< by identity
  std::vector<Identity> met_shared;

  std::shared_ptr<MemorySource> memory;  ///< of the device

  std::shared_ptr<TimelineState> timeline;  ///< null: none

  Arena inputs;         ///< copies of inputs on the device
  Arena shared_values;  ///< values and gradients of shared nodes
  Arena shared_lists;   ///< the lists of their batches

  ReadParameters parameters;
  std::uint64_t passes = 0;  ///< the number of forward and backward passes so far
  /// By type: bounds of nodes whose values were released.
  std::unordered_map<TypeId, std::uint64_t> released_bounds;
  std::uint64_t recomputed = 0;  ///< nodes that were computed again after they had been freed
};

}  // namespace dynet_like::detail

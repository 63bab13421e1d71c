// What all lanes of a run read, and what is computed once for them: values of nodes, shared values.
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

/// Where the value of a node lies (null: not computed), and which batch made it.
struct NodeState {
  std::byte* value = nullptr;
  std::uint32_t batch = kNone;
  std::uint32_t plan_index = kNone;  ///< while it is being planned; kNeeded before that
};

struct TapeState {
  Tape* tape = nullptr;
  std::vector<NodeState> nodes;
};

/// An input of a shared node: a stretch of another shared value.
struct SharedInput {
  Value value;
  Identity producer = 0;
};

/// A parameter, or a value that follows from parameters and constants alone: once for all tapes. It
/// outlives the node that it was first needed for.
struct SharedValue {
  ParameterStorage* parameter = nullptr;
  TypeId type = 0;
  std::uint32_t items = 1, batch = kNone;
  std::byte* value = nullptr;
  std::vector<SharedInput> inputs;
  /// Copies that products read: of what is no parameter, and of one whose memory somebody holds.
  std::shared_ptr<PackedMatrices> packed;
  std::uint64_t run = 0;  ///< CommonState::runs, when it was found last
  /// The node that stands for it while it is computed.
  NodeRef representative;
  bool pending = false;
  /// Of what is no parameter: the sum of what its consumers contributed in this pass, if anything.
  std::byte* gradient = nullptr;
  bool has_gradient = false;
  bool is_met = false;  ///< by the tapes that there are
};

/// A parameter as it was when a run read it.
struct ReadParameter {
  explicit ReadParameter(const ParameterStorage& storage)
      : parameter(&storage), seen(storage.values.snapshot()) {}

  /// Whether its values may be others by now; and whether they are, as far as that can be told:
  /// writes into the memory of a table that was handed out are not seen. The second takes time in
  /// proportion to a parameter whose memory was handed out.
  bool may_have_changed() const { return parameter->values.may_differ(seen); }
  bool has_changed() const { return parameter->values.differ(seen); }

  const ParameterStorage* parameter;
  detail::ParameterValues::Snapshot seen;
};

/// Those that were read since values were forgotten.
class ReadParameters {
 public:
  void add(const ParameterStorage& parameter) { all_.emplace_back(parameter); }
  /// One of them is needed again; meanwhile it may have got a trainer that leaves rows behind.
  void meet(const ParameterStorage& parameter) {
    has_lazy_tables_ |= parameter.refresher != nullptr;
  }
  void clear() {
    all_.clear();
    has_lazy_tables_ = false;
  }
  /// Programs that hold their memory may have written to it.
  void take_writes() const {
    for (const ReadParameter& read : all_) read.parameter->values.take_writes();
  }
  /// Whether rows of some are brought up to date when they are read.
  bool has_lazy_tables() const { return has_lazy_tables_; }
  /// Whether one may have changed since its values were read.
  /// `look_at_memory`: also by writes into memory that was handed out.
  bool may_have_changed(bool look_at_memory) const;
  /// Throws StateError if one has: gradients would mix old values with new weights.
  void check(const char* user);

 private:
  std::vector<ReadParameter> all_;
  bool has_lazy_tables_ = false;
};

/// What all lanes of a run have in common. Tapes have one TypeTable.
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
  /// The whole output of a node, and what it is known by across tapes (0: nothing).
  const Value& output(NodeRef ref) const {
    const Tape& tape = *tapes[ref.tape].tape;
    return tape.value(tape.node(ref.node).value);
  }
  std::uint32_t items_of(NodeRef ref) const { return tape(ref).items_of(ref.node); }
  Identity identity_of(NodeRef ref) const { return output(ref).identity; }
  const TypeTable& types() const { return tapes.front().tape->types(); }
  bool is_on_cpu() const { return memory == nullptr; }
  /// Of the calling thread; null without GraphOptions::timeline.
  TimelineTrack* track() const { return timeline == nullptr ? nullptr : &timeline->track(); }
  /// Whether these tapes are being run.
  Running& running() { return tapes.empty() ? runs_nothing : types().runs; }

  /// The shared value with this identity, which a tape has.
  SharedValue& meet(Identity identity) {
    SharedValue& value = shared[identity];
    if (!value.is_met) {
      met_shared.push_back(identity);
      value.is_met = true;
    }
    return value;
  }
  /// Forgets shared values, in the time that follows from how many were met; allocates nothing.
  void forget_shared() {
    for (const Identity identity : met_shared) shared[identity] = SharedValue();
    met_shared.clear();
  }

  GraphOptions options;
  Running runs_nothing;
  std::vector<TapeState> tapes;
  std::vector<SharedValue> shared;  ///< by identity, of all that there are
  std::vector<Identity> met_shared;

  std::shared_ptr<MemorySource> memory;  ///< of the device

  std::shared_ptr<TimelineState> timeline;  ///< null: none

  Arena inputs;         ///< those that were brought to the device
  Arena shared_values;  ///< values and gradients of shared nodes
  Arena shared_lists;   ///< and the lists of their batches

  ReadParameters parameters;
  std::uint64_t runs = 0;  ///< forward and backward, so far
  /// By type: of nodes whose values were released.
  std::unordered_map<TypeId, std::uint64_t> released_bounds;
  std::uint64_t recomputed = 0;  ///< nodes that ran again after they had been freed
};

}  // namespace dynet_like::detail

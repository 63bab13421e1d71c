// Finds the nodes that values need.
#include "dynet_like/exec/needed.h"

#include <algorithm>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

namespace {

// Returns whether the node was not yet needed.
bool need(NodeState& state) {
  if (state.value != nullptr || state.is_needed != 0) return false;
  state.is_needed = 1;
  return true;
}

}  // namespace

void NeededNodes::collect(std::span<const ValueRef> targets) {
  pending_.clear();
  shared_.clear();
  aliases_.clear();
  recomputed_ = 0;
  if (common_.shared.size() < common_.types().identity_count()) {
    common_.shared.resize(common_.types().identity_count());
  }
  for (std::size_t i = 0; i < targets.size();) {
    const std::uint32_t tape = targets[i].tape;
    const bool is_new_tape = common_.tapes[tape].nodes.empty();
    common_.tapes[tape].nodes.resize(common_.tapes[tape].tape->size());
    NodeId last = 0;
    std::size_t open = 0, unread = 0;
    for (; i < targets.size() && targets[i].tape == tape; ++i) {
      const Value& value = common_.tapes[tape].tape->value(targets[i].value);
      last = std::max(last, value.node);
      const bool is_new = need(common_.tapes[tape].nodes[value.node]);
      open += is_new;
      unread += is_new && !value.is_read;
    }
    if (is_new_tape && unread == common_.tapes[tape].tape->unread_values()) {
      collect_all(tape);
      continue;
    }
    const std::size_t first = pending_.size();
    collect_tape(tape, last, open);
    std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end());
  }
  // A representative comes after its inputs, whichever tape each was found in.
  std::sort(shared_.begin(), shared_.end(),
            [&](NodeRef a, NodeRef b) { return common_.identity_of(a) < common_.identity_of(b); });
}

// Goes back from `last` until no needed node is left.
void NeededNodes::collect_tape(std::uint32_t tape_index, NodeId last, std::size_t open) {
  const Tape& tape = *common_.tapes[tape_index].tape;
  NodeState* const states = common_.tapes[tape_index].nodes.data();
  for (NodeId node = last; open > 0; --node) {
    if (states[node].is_needed == 0) continue;
    --open;
    states[node].is_needed = 0;
    if (!enter({tape_index, node})) continue;
    for (ValueId input : tape.inputs_of(node)) open += need(states[tape.value(input).node]);
  }
}

void NeededNodes::collect_all(std::uint32_t tape_index) {
  const Tape& tape = *common_.tapes[tape_index].tape;
  const TypeTable& types = tape.types();
  const std::span<const Node> nodes = tape.nodes();
  const Value* const values = tape.values().data();
  NodeState* const states = common_.tapes[tape_index].nodes.data();
  for (NodeId node = 0; node < nodes.size(); ++node) {
    states[node].is_needed = 0;
    if (types[nodes[node].type].inputs > 0 && values[nodes[node].value].identity == 0) {
      pending_.push_back({tape_index, node});
    } else {
      enter({tape_index, node});
    }
  }
}

// Returns whether the node must run, so that its inputs are needed, too.
bool NeededNodes::enter(NodeRef ref) {
  const Tape& tape = common_.tape(ref);
  const Node& recorded = tape.node(ref.node);
  const NodeType& type = tape.types()[recorded.type];
  if (type.inputs == 0 && type.op->is_stored()) {
    place_source(ref);
    return false;
  }
  if (const Identity identity = tape.value(recorded.value).identity; identity != 0) {
    SharedValue& shared = common_.meet(identity);
    common_.state(ref).value = shared.value;
    if (shared.value != nullptr) return false;
    if (shared.pending) {
      aliases_.push_back(ref);
      return false;
    }
    describe(shared, ref);
    shared_.push_back(ref);
  } else {
    pending_.push_back(ref);
    recomputed_ += common_.state(ref).has_run();
  }
  return true;
}

// Sources need no kernel: their values are in memory of the user or of the parameter.
void NeededNodes::place_source(NodeRef ref) {
  const Tape& tape = common_.tape(ref);
  NodeState& state = common_.state(ref);
  if (tape.type_of(ref.node).op->role != Role::input) {
    ParameterStorage& parameter = tape.storage_of(ref.node);
    SharedValue& shared = common_.meet(common_.identity_of(ref));
    check_device(parameter);
    if (shared.parameter == nullptr) common_.parameters.add(parameter);
    if (shared.parameter == nullptr && parameter.values.is_handed_out()) {
      shared.packed = std::make_shared<PackedMatrices>();
    }
    shared.parameter = &parameter;
    shared.type = tape.node(ref.node).type;
    shared.value = state.value = parameter.values.data();
    common_.parameters.meet(parameter);
    return;
  }
  const InputData& input = tape.input_of(ref.node);
  Device& device = *common_.options.device;
  if (input.data != nullptr && device.is_cpu()) {
    state.value = static_cast<std::byte*>(const_cast<void*>(input.data));
    return;
  }
  const std::size_t bytes = input.size * size_of(tape.dtype());
  std::byte* const to = common_.inputs.allocate_array<std::byte>(bytes);
  if (input.data != nullptr) {
    device.write(to, input.data, bytes);
  } else if (const float* from = input.values_now(); tape.dtype() == DType::f32) {
    device.write(to, from, bytes);
  } else {
    const std::vector<double> doubles(from, from + input.size);
    device.write(to, doubles.data(), bytes);
  }
  state.value = to;
}

void NeededNodes::check_device(const ParameterStorage& parameter) const {
  const Device& device = *common_.options.device;
  if (&parameter.device() == &device) return;
  throw UsageError("[forward] need parameters on the device of the graph, " + device.name() +
                   "; got " + parameter.name + " on " + parameter.device().name() +
                   ": give both the same, see GraphOptions::device");
}

// Keeps what a backward pass needs of a shared node, independently of the tape where it was found.
void NeededNodes::describe(SharedValue& shared, NodeRef ref) {
  const Tape& tape = common_.tape(ref);
  shared.pending = true;
  shared.pass = common_.passes;
  shared.packed = std::make_shared<PackedMatrices>();
  shared.representative = ref;
  shared.type = tape.node(ref.node).type;
  shared.items = common_.items_of(ref);
  shared.inputs.clear();
  for (ValueId input : tape.inputs_of(ref.node)) {
    const Value& value = tape.value(input);
    shared.inputs.push_back({value, common_.identity_of({ref.tape, value.node})});
  }
}

void NeededNodes::resolve_aliases() {
  for (NodeRef ref : aliases_) {
    common_.state(ref).value = common_.shared[common_.identity_of(ref)].value;
  }
}

std::span<const NodeRef> NeededNodes::of_tapes(std::uint32_t begin, std::uint32_t end) const {
  const auto before = [](NodeRef ref, std::uint32_t tape) { return ref.tape < tape; };
  const auto first = std::lower_bound(pending_.begin(), pending_.end(), begin, before);
  return std::span(first, std::lower_bound(first, pending_.end(), end, before));
}

void NeededNodes::forget() {
  for (const Identity identity : common_.met_shared) common_.shared[identity].pending = false;
  for (TapeState& tape : common_.tapes) {
    for (NodeState& state : tape.nodes) {
      state.planned = NodeState::kNotPlanned;
      state.is_needed = 0;
    }
  }
}

}  // namespace dynet_like::detail

// Finding and planning what is needed.
#include "dynet_like/exec/forward.h"

#include <algorithm>
#include <chrono>

#include "dynet_like/ops/structured.h"

namespace dynet_like {

namespace {

constexpr std::uint32_t kNeeded = kNone - 1;

}  // namespace

void Forward::compute(std::span<const ValueRef> targets, bool free_unread) {
  try {
    collect(targets);
    run(pending_shared_, true, {});
    resolve_aliases(aliases_);
    run(pending_, false, free_unread ? targets : std::span<const ValueRef>());
  } catch (...) {
    // What was begun is forgotten, so that the next call finds it undone.
    for (SharedValue& shared : run_.shared) shared.pending = false;
    for (TapeState& tape : run_.tapes) {
      for (NodeState& state : tape.nodes) state.plan_index = kNone;
    }
    throw;
  }
}

void Forward::collect(std::span<const ValueRef> targets) {
  pending_.clear();
  pending_shared_.clear();
  aliases_.clear();
  for (TapeState& tape : run_.tapes) tape.nodes.resize(tape.tape->size());
  run_.shared.resize(run_.types().identity_count());
  for (std::size_t i = 0; i < targets.size();) {
    const std::uint32_t tape = targets[i].tape;
    NodeId last = 0;
    std::size_t open = 0;
    for (; i < targets.size() && targets[i].tape == tape; ++i) {
      const NodeId node = run_.tapes[tape].tape->value(targets[i].value).node;
      last = std::max(last, node);
      open += need(tape, node);
    }
    const std::size_t first = pending_.size();
    collect_tape(tape, last, open);
    std::reverse(pending_.begin() + static_cast<std::ptrdiff_t>(first), pending_.end());
  }
  // A representative comes after its inputs, whichever tape each was found in.
  std::sort(pending_shared_.begin(), pending_shared_.end(),
            [&](NodeRef a, NodeRef b) { return run_.identity_of(a) < run_.identity_of(b); });
}

bool Forward::need(std::uint32_t tape, NodeId node) {
  NodeState& state = run_.tapes[tape].nodes[node];
  if (state.value != nullptr || state.plan_index == kNeeded) return false;
  state.plan_index = kNeeded;
  return true;
}

// Goes back from `last` until none of the needed nodes is left.
void Forward::collect_tape(std::uint32_t tape_index, NodeId last, std::size_t open) {
  const Tape& tape = *run_.tapes[tape_index].tape;
  std::vector<NodeState>& states = run_.tapes[tape_index].nodes;
  for (NodeId node = last; open > 0; --node) {
    if (states[node].plan_index != kNeeded) continue;
    --open;
    states[node].plan_index = kNone;
    const NodeRef ref{tape_index, node};
    const NodeType& type = tape.type_of(node);
    if (type.op->max_inputs == 0 && type.op != &ops::constant) {
      place_source(ref);
      continue;
    }
    if (const Identity identity = tape.value(tape.node(node).value).identity; identity != 0) {
      SharedValue& shared = run_.shared[identity];
      states[node].value = shared.value;
      if (shared.value != nullptr) continue;
      if (shared.pending) {
        aliases_.push_back(ref);
        continue;
      }
      describe(shared, ref);
      pending_shared_.push_back(ref);
    } else {
      pending_.push_back(ref);
    }
    for (ValueId input : tape.inputs_of(node)) open += need(tape_index, tape.value(input).node);
  }
}

// Sources need no kernel: their values lie where the user or the parameter has them.
void Forward::place_source(NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  NodeState& state = run_.state(ref);
  if (tape.type_of(ref.node).op != &ops::input) {
    ParameterStorage& parameter = tape.storage_of(ref.node);
    SharedValue& shared = run_.shared[run_.identity_of(ref)];
    if (shared.parameter == nullptr)
      run_.read_parameters.push_back({&parameter, parameter.version});
    shared.parameter = &parameter;
    shared.type = tape.node(ref.node).type;
    shared.value = state.value = parameter.values.data();
    run_.reads_lazy_tables |= parameter.refresher != nullptr;
    return;
  }
  const InputData& input = tape.input_of(ref.node);
  state.value = static_cast<std::byte*>(const_cast<void*>(input.data));
  if (state.value != nullptr) return;
  const float* from = input.values_now();
  state.value = run_.inputs.allocate_array<std::byte>(input.size * size_of(tape.dtype()));
  if (tape.dtype() == DType::f32) {
    std::copy_n(from, input.size, reinterpret_cast<float*>(state.value));
  } else {
    std::copy_n(from, input.size, reinterpret_cast<double*>(state.value));
  }
}

// What a backward pass needs of a shared node, without the tape that it was found in.
void Forward::describe(SharedValue& shared, NodeRef ref) {
  const Tape& tape = run_.tape(ref);
  shared.pending = true;
  shared.representative = ref;
  shared.type = tape.node(ref.node).type;
  shared.items = run_.output(ref).items;
  shared.inputs.clear();
  for (ValueId input : tape.inputs_of(ref.node)) {
    const Value& value = tape.value(input);
    shared.inputs.push_back({value, run_.identity_of({ref.tape, value.node})});
  }
}

// A shared node that another tape's node stands for has its value.
void Forward::resolve_aliases(std::span<const NodeRef> aliases) {
  for (NodeRef ref : aliases) {
    run_.state(ref).value = run_.shared[run_.identity_of(ref)].value;
  }
}

void Forward::run(std::span<const NodeRef> pending, bool shared, std::span<const ValueRef> keep) {
  if (pending.empty()) return;
  const auto begin = std::chrono::steady_clock::now();
  const batching::Schedule& schedule = plan(pending);
  if (!keep.empty()) find_last_reads(pending, schedule, keep);
  if (run_.options.measure_time) {
    run_.plan_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  const std::size_t first_batch = run_.batches.size();
  for (std::size_t step = 0; step < schedule.size(); ++step) {
    step_members_.clear();
    for (std::uint32_t node : schedule.batch(step)) step_members_.push_back(pending[node]);
    if (shared) resolve_inputs();
    run_batch(run_, step_members_, shared);
    if (!keep.empty()) give_back_unread(step, first_batch);
  }
}

void Forward::resolve_inputs() {
  for (NodeRef ref : step_members_) {
    for (ValueId input : run_.tape(ref).inputs_of(ref.node)) {
      const NodeRef producer{ref.tape, run_.tape(ref).value(input).node};
      if (run_.state(producer).value == nullptr) resolve_aliases(std::span(&producer, 1));
    }
  }
}

// The state of an input's node, or of the node of another tape that stands for it.
const NodeState& Forward::producer_of(NodeRef consumer, ValueId input) const {
  const NodeRef producer{consumer.tape, run_.tape(consumer).value(input).node};
  const NodeState& state = run_.state(producer);
  if (state.value != nullptr || state.plan_index != kNone) return state;
  return run_.state(run_.shared[run_.identity_of(producer)].representative);
}

const batching::Schedule& Forward::plan(std::span<const NodeRef> pending) {
  type_.clear();
  first_input_.assign(1, 0);
  inputs_.clear();
  used_types_.clear();
  plan_type_of_.resize(run_.types().type_count(), kNone);
  for (std::uint32_t i = 0; i < pending.size(); ++i) {
    TapeState& tape = run_.tapes[pending[i].tape];
    const TypeId type = tape.tape->node(pending[i].node).type;
    if (plan_type_of_[type] == kNone) {
      plan_type_of_[type] = static_cast<std::uint32_t>(used_types_.size());
      used_types_.push_back(type);
    }
    type_.push_back(plan_type_of_[type]);
    tape.nodes[pending[i].node].plan_index = i;
    for (ValueId input : tape.tape->inputs_of(pending[i].node)) {
      const NodeState& producer = producer_of(pending[i], input);
      if (producer.value == nullptr && producer.plan_index < i) {
        inputs_.push_back(producer.plan_index);
      }
    }
    first_input_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  }
  for (TypeId type : used_types_) plan_type_of_[type] = kNone;
  return planner_.plan(
      {static_cast<std::uint32_t>(used_types_.size()), type_, first_input_, inputs_},
      run_.options.policy);
}

void Forward::find_last_reads(std::span<const NodeRef> pending, const batching::Schedule& schedule,
                              std::span<const ValueRef> keep) {
  step_of_.resize(pending.size());
  last_read_.assign(schedule.size(), 0);
  for (std::uint32_t step = 0; step < schedule.size(); ++step) {
    for (std::uint32_t node : schedule.batch(step)) {
      step_of_[node] = step;
      for (std::uint32_t i = first_input_[node]; i < first_input_[node + 1]; ++i) {
        last_read_[step_of_[inputs_[i]]] = step;
      }
    }
  }
  for (const ValueRef& target : keep) {
    const NodeId node = run_.tapes[target.tape].tape->value(target.value).node;
    const NodeState& state = run_.tapes[target.tape].nodes[node];
    if (state.value == nullptr) last_read_[step_of_[state.plan_index]] = kNone;
  }
}

void Forward::give_back_unread(std::size_t step, std::size_t first_batch) {
  // Few batches end at a step: those that it reads, and itself if nothing reads it.
  const auto give_back = [&](std::size_t of_step) {
    Batch& batch = run_.batches[first_batch + of_step];
    if (last_read_[of_step] != step || batch.out == nullptr) return;
    for (NodeRef ref : run_.members_of(batch)) run_.state(ref).value = nullptr;
    run_.values.give_back(batch.out, batch.out_bytes);
    batch.out = nullptr;
  };
  last_read_[step] = std::max<std::uint32_t>(last_read_[step], static_cast<std::uint32_t>(step));
  const Batch done = run_.batches[first_batch + step];
  for (NodeRef ref : run_.members_of(done)) {
    const Tape& tape = run_.tape(ref);
    for (ValueId input : tape.inputs_of(ref.node)) {
      const NodeState& producer = run_.tapes[ref.tape].nodes[tape.value(input).node];
      if (producer.batch != kNone && producer.batch >= first_batch && producer.value != nullptr) {
        give_back(producer.batch - first_batch);
      }
    }
  }
  give_back(step);
}

}  // namespace dynet_like

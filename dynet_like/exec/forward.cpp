// Planning what is needed, and running it.
#include "dynet_like/exec/forward.h"

#include <algorithm>
#include <chrono>

namespace dynet_like {

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
  const Arena::Mark lists = run_.lists.mark();
  for (std::size_t step = 0; step < schedule.size(); ++step) {
    step_members_.clear();
    for (std::uint32_t node : schedule.batch(step)) step_members_.push_back(pending[node]);
    if (shared) resolve_inputs();
    run_batch(run_, step_members_, shared);
    if (run_.options.inference) run_.lists.rewind(lists);  // only backward reads them later
    if (!keep.empty()) give_back_unread(step, first_batch);
  }
}

// A shared node's inputs may have been computed for nodes of other tapes that stand for them.
void Forward::resolve_inputs() {
  for (NodeRef ref : step_members_) {
    for (ValueId input : run_.tape(ref).inputs_of(ref.node)) {
      const NodeRef producer{ref.tape, run_.tape(ref).value(input).node};
      NodeState& state = run_.state(producer);
      if (state.value == nullptr) state.value = run_.shared[run_.identity_of(producer)].value;
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
  // What the last plan has left, or one that an exception ended.
  for (TypeId type : used_types_) plan_type_of_[type] = kNone;
  used_types_.clear();
  plan_type_of_.resize(run_.types().type_count(), kNone);
  for (std::uint32_t i = 0; i < pending.size(); ++i) {
    TapeState& tape = run_.tapes[pending[i].tape];
    const TypeId type = tape.tape->node(pending[i].node).type;
    if (plan_type_of_[type] == kNone) {
      used_types_.push_back(type);
      plan_type_of_[type] = static_cast<std::uint32_t>(used_types_.size() - 1);
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
    if (target.tape < run_.first_tape || target.tape >= run_.end_tape) continue;
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
      if (tape.value(input).identity != 0) continue;  // all samples may read it
      const NodeState& producer = run_.tapes[ref.tape].nodes[tape.value(input).node];
      if (producer.batch != kNone && producer.batch >= first_batch && producer.value != nullptr) {
        give_back(producer.batch - first_batch);
      }
    }
  }
  give_back(step);
}

}  // namespace dynet_like

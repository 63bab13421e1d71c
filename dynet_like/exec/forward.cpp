// Plans the needed nodes, and runs them.
#include "dynet_like/exec/forward.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "dynet_like/exec/empty_batches.h"
#include "dynet_like/exec/run_batch.h"
#include "dynet_like/program/recursion_op.h"

namespace dynet_like::detail {

void Forward::run(std::span<const NodeRef> pending, std::span<const ValueRef> targets,
                  bool free_unread) {
  if (pending.empty()) return;
  run_.find_tapes();
  parts_.divide(run_, pending, targets, free_unread);
  for (std::size_t p = 0; p < parts_.size(); ++p) {
    run_part(parts_[p], false);
    if (run_.options().inference && parts_.size() > 1) drop_empty_batches(run_);
  }
}

void Forward::run_shared(std::span<const NodeRef> pending) {
  if (pending.empty()) return;
  run_.find_tapes();
  run_part({pending, {}}, true);
}

void Forward::run_part(const ForwardParts::Part& part, bool shared) {
  const std::span<const NodeRef> pending = part.nodes;
  if (pending.empty()) return;
  const batching::Schedule& schedule = make_plan(part);
  const std::size_t first_batch = run_.batches.size();
  const Arena::Mark lists = run_.lists.mark();
  if (!shared) early_.begin(schedule, pending, type_, types_.all());
  for (std::size_t step = 0; step < schedule.size(); ++step) {
    nodes_.clear();
    for (const std::uint32_t index : schedule.batch(step)) nodes_.push_back(pending[index]);
    if (shared) resolve_inputs();
    const std::uint32_t type = type_[schedule.batch(step)[0]];
    run_batch(run_, nodes_, shared, shared ? EarlySums() : early_.next(type, nodes_.size()));
    if (run_.options().inference) run_.lists.rewind(lists);  // only backward would read them later
    if (!part.freed.empty()) give_back_unread(step, first_batch);
  }
  if (!shared) early_.end();
}

const batching::Schedule& Forward::make_plan(const ForwardParts::Part& part) {
  const auto begin = std::chrono::steady_clock::now();
  TimelineScope scope(run_.track(), TimelineSpan::plan);
  const batching::Schedule& schedule = plan(part.nodes);
  if (!part.freed.empty()) find_last_reads(schedule, part.freed);
  scope.count(part.nodes.size(), schedule.size());
  if (run_.options().measure_time) {
    run_.counts.plan_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return schedule;
}

// The inputs of a shared node may have been computed by nodes of other tapes that stand for them.
void Forward::resolve_inputs() {
  for (NodeRef ref : nodes_) {
    for (ValueId input : run_.tape(ref).inputs_of(ref.node)) {
      const NodeRef producer{ref.tape, run_.tape(ref).value(input).node};
      NodeState& state = run_.state(producer);
      if (state.value == nullptr) state.value = run_.shared()[run_.identity_of(producer)].value;
    }
  }
}

const batching::Schedule& Forward::plan(std::span<const NodeRef> pending) {
  type_.clear();
  first_input_.assign(1, 0);
  inputs_.clear();
  types_.begin(run_.types().type_count());
  functions_.clear();
  const bool joins = run_.common.shares_in_training();
  for (std::uint32_t i = 0; i < pending.size(); ++i) {
    const NodeRef ref = pending[i];
    const TapeLists& tape = run_.tape_lists[ref.tape];
    const Node& node = tape.nodes[ref.node];
    type_.push_back(types_.number(joins ? planned_type(node.type) : node.type));
    tape.states[ref.node].planned = i;
    const std::uint32_t end = node.first_edge + run_.types()[node.type].inputs;
    for (std::uint32_t e = node.first_edge; e < end; ++e) add_input(tape, tape.edges[e], i);
    first_input_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  }
  return planner_.plan(
      {static_cast<std::uint32_t>(types_.all().size()), type_, first_input_, inputs_},
      run_.options().policy);
}

// A recursion has another type when it has met more kinds of vertices. Which vertices are shared
// must not depend on when it has met them, so all of its nodes count as nodes of one type, unless
// they differ in an argument: a parameter may have been frozen in between.
std::uint32_t Forward::planned_type(std::uint32_t type) {
  const NodeType& recorded = run_.types()[type];
  if (recorded.op->role != Role::recursion) return type;
  const void* const function = recursion_of(recorded.signature).types.get();
  const std::span arguments =
      std::span(recorded.keys).first(recorded.inputs).subspan(recorded.signature.attributes[0]);
  const auto found = std::ranges::find_if(functions_, [&](const TypeOfFunction& known) {
    const std::size_t common = std::min(arguments.size(), known.arguments.size());
    return known.function == function &&
           std::ranges::equal(arguments.first(common), known.arguments.first(common));
  });
  if (found == functions_.end()) {
    functions_.push_back({function, type, arguments});
    return type;
  }
  if (arguments.size() > found->arguments.size()) found->arguments = arguments;
  return found->type;
}

// Another tape's node may stand for the node of the input.
void Forward::add_input(const TapeLists& tape, ValueId input, std::uint32_t index) {
  const NodeState* producer = &tape.states[tape.values[input].node];
  if (producer->value == nullptr && producer->planned == NodeState::kNotPlanned) {
    const Identity identity = tape.values[tape.nodes[tape.values[input].node].value].identity;
    producer = &run_.state(run_.shared()[identity].representative);
  }
  if (producer->value == nullptr && producer->planned < index) inputs_.push_back(producer->planned);
}

// A batch whose values are not all freed keeps its memory.
void Forward::find_last_reads(const batching::Schedule& schedule,
                              std::span<const std::uint8_t> freed) {
  batch_of_.resize(type_.size());
  last_read_.resize(schedule.size());
  for (std::uint32_t batch = 0; batch < schedule.size(); ++batch) {
    last_read_[batch] = batch;
    for (const std::uint32_t index : schedule.batch(batch)) {
      batch_of_[index] = batch;
      for (std::uint32_t i = first_input_[index]; i < first_input_[index + 1]; ++i) {
        last_read_[batch_of_[inputs_[i]]] = batch;
      }
    }
  }
  for (std::size_t index = 0; index < freed.size(); ++index) {
    if (freed[index] == 0) last_read_[batch_of_[index]] = kNone;
  }
  first_unread_.assign(schedule.size(), kNone);
  next_unread_.resize(schedule.size());
  for (auto batch = static_cast<std::uint32_t>(schedule.size()); batch-- > 0;) {
    if (last_read_[batch] == kNone) continue;
    next_unread_[batch] = std::exchange(first_unread_[last_read_[batch]], batch);
  }
}

// Gives back the values that no later step reads.
void Forward::give_back_unread(std::size_t step, std::size_t first_batch) {
  for (std::uint32_t b = first_unread_[step]; b != kNone; b = next_unread_[b]) {
    Batch& batch = run_.batches[first_batch + b];
    run_.values.give_back(batch.out, batch.out_bytes);
    for (NodeRef ref : run_.nodes_of(batch)) run_.state(ref).value = nullptr;
    batch.out = nullptr;
    batch.left = 0;
  }
}

}  // namespace dynet_like::detail

// Planning what is needed, and running it.
#include "dynet_like/exec/forward.h"

#include <algorithm>
#include <chrono>

#include "dynet_like/exec/run_batch.h"

namespace dynet_like::detail {

void Forward::run(std::span<const NodeRef> pending, bool shared, std::span<const ValueRef> keep) {
  single_nodes_ = 0;
  if (pending.empty()) return;
  const std::size_t first_cell = run_.cells.all.size();
  try {
    run_all(pending, shared, keep);
  } catch (...) {
    // Marks must not count cells that have no batch.
    std::size_t cells = run_.cells.all.size();
    while (cells > first_cell && run_.cells.all[cells - 1].batch == kNone) --cells;
    run_.cells.resize(cells, run_.cells.batches.size());
    throw;
  }
}

void Forward::run_all(std::span<const NodeRef> pending, bool shared,
                      std::span<const ValueRef> keep) {
  const batching::Schedule& schedule = make_plan(pending, shared, keep);
  const std::size_t first_batch = run_.batches.size();
  const Arena::Mark lists = run_.lists.mark();
  for (std::size_t step = 0; step < schedule.size(); ++step) {
    run_step(pending, schedule.batch(step), shared, last_reads_of(step));
    if (run_.options.inference) run_.lists.rewind(lists);  // only backward reads them later
    if (frees_) give_back_unread(step, first_batch);
  }
}

const batching::Schedule& Forward::make_plan(std::span<const NodeRef> pending, bool shared,
                                             std::span<const ValueRef> keep) {
  const auto begin = std::chrono::steady_clock::now();
  TimelineScope scope(run_.track(), TimelineSpan::plan);
  frees_ = !keep.empty();
  divide(pending, shared);
  const batching::Schedule& schedule = plan(pending);
  if (frees_) find_last_reads(schedule, keep);
  scope.count(pending.size(), schedule.size());
  if (run_.options.measure_time) {
    run_.counts.plan_seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  }
  return schedule;
}

void Forward::divide(std::span<const NodeRef> pending, bool shared) {
  if (!shared && run_.common.uses_cells() && !run_.common.dictionary.empty()) {
    units_ = matcher_.divide(pending);
    single_nodes_ = matcher_.single_nodes();
    return;
  }
  all_single_.resize(std::max(all_single_.size(), pending.size()));
  for (std::uint32_t i = 0; i < pending.size(); ++i) all_single_[i] = {i, kNone};
  units_ = std::span(all_single_).first(pending.size());
  if (!shared) single_nodes_ = pending.size();
}

// By batch of the step; none if nothing is freed.
std::span<const std::uint32_t> Forward::last_reads_of(std::size_t step) const {
  if (!frees_) return {};
  const std::uint32_t first = first_batch_of_[step];
  return std::span(last_read_).subspan(first, first_batch_of_[step + 1] - first);
}

void Forward::run_step(std::span<const NodeRef> pending, std::span<const std::uint32_t> units,
                       bool shared, std::span<const std::uint32_t> last_reads) {
  step_members_.clear();
  step_cells_.clear();
  if (units_[units[0]].cell != kNone) {
    for (std::uint32_t unit : units) step_cells_.push_back(units_[unit].cell);
    run_cells(run_, step_cells_, last_reads);
    return;
  }
  for (std::uint32_t unit : units) step_members_.push_back(pending[units_[unit].node]);
  if (shared) resolve_inputs();
  run_batch(run_, step_members_, shared);
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
  input_batch_.clear();
  const std::size_t node_types = run_.types().type_count();
  types_.begin(node_types + run_.common.dictionary.size());
  for (std::uint32_t u = 0; u < units_.size(); ++u) {
    const NodeRef ref = pending[units_[u].node];
    TapeState& state = run_.tapes[ref.tape];
    const Tape& tape = *state.tape;
    if (units_[u].cell == kNone) {
      type_.push_back(types_.number(tape.node(ref.node).type));
      state.nodes[ref.node].plan_index = u;
      for (ValueId input : tape.inputs_of(ref.node)) add_input(ref, input, u);
    } else {
      const Cell& cell = run_.cells.all[units_[u].cell];
      type_.push_back(types_.number(node_types + cell.type));
      for (NodeId node : run_.cells.nodes_of(cell)) state.nodes[node].plan_index = u;
      for (ValueId input : run_.cells.ports_of(cell)) add_input(ref, input, u);
    }
    first_input_.push_back(static_cast<std::uint32_t>(inputs_.size()));
  }
  return planner_.plan(
      {static_cast<std::uint32_t>(types_.all().size()), type_, first_input_, inputs_},
      run_.options.policy);
}

void Forward::add_input(NodeRef consumer, ValueId input, std::uint32_t unit) {
  const NodeState& producer = producer_of(consumer, input);
  if (producer.value != nullptr || producer.plan_index >= unit) return;
  inputs_.push_back(producer.plan_index);
  if (frees_) {
    const NodeId node = run_.tape(consumer).value(input).node;
    input_batch_.push_back(batch_inside(node, producer.plan_index));
  }
}

std::size_t Forward::batches_of(std::uint32_t unit) const {
  if (units_[unit].cell == kNone) return 1;
  return run_.common.dictionary[run_.cells.all[units_[unit].cell].type].steps.size();
}

// Which of the batches of its unit makes a node.
std::uint32_t Forward::batch_inside(NodeId node, std::uint32_t unit) const {
  if (units_[unit].cell == kNone) return 0;
  const Cell& cell = run_.cells.all[units_[unit].cell];
  const std::span<const NodeId> nodes = run_.cells.nodes_of(cell);
  const std::size_t distance = node - nodes.front();
  const auto member = nodes.back() - nodes.front() + 1 == nodes.size()
                          ? static_cast<std::ptrdiff_t>(distance)
                          : std::lower_bound(nodes.begin(), nodes.end(), node) - nodes.begin();
  return run_.common.dictionary[cell.type].members[static_cast<std::size_t>(member)].step;
}

void Forward::find_last_reads(const batching::Schedule& schedule, std::span<const ValueRef> keep) {
  step_of_.resize(units_.size());
  first_batch_of_.assign(1, 0);
  for (std::uint32_t step = 0; step < schedule.size(); ++step) {
    for (std::uint32_t unit : schedule.batch(step)) step_of_[unit] = step;
    first_batch_of_.push_back(first_batch_of_.back() +
                              static_cast<std::uint32_t>(batches_of(schedule.batch(step)[0])));
  }
  last_read_.assign(first_batch_of_.back(), 0);
  for (std::uint32_t step = 0; step < schedule.size(); ++step) {
    for (std::uint32_t unit : schedule.batch(step)) {
      for (std::uint32_t i = first_input_[unit]; i < first_input_[unit + 1]; ++i) {
        last_read_[first_batch_of_[step_of_[inputs_[i]]] + input_batch_[i]] = step;
      }
    }
  }
  for (const ValueRef& target : keep) {
    if (target.tape < run_.first_tape || target.tape >= run_.end_tape) continue;
    const NodeId node = run_.tapes[target.tape].tape->value(target.value).node;
    const NodeState& state = run_.tapes[target.tape].nodes[node];
    if (state.value != nullptr) continue;
    const std::uint32_t unit = state.plan_index;
    last_read_[first_batch_of_[step_of_[unit]] + batch_inside(node, unit)] = kNone;
  }
}

// Few batches end at a step: those that it reads, and its own if nothing reads them later.
void Forward::give_back_unread(std::size_t step, std::size_t first_batch) {
  for (NodeRef ref : step_members_) {
    for (ValueId input : run_.tape(ref).inputs_of(ref.node)) {
      give_back_read(ref, input, step, first_batch);
    }
  }
  for (std::uint32_t c : step_cells_) {
    const Cell& cell = run_.cells.all[c];
    const NodeRef ref{cell.tape, run_.cells.nodes_of(cell)[0]};
    for (ValueId input : run_.cells.ports_of(cell)) give_back_read(ref, input, step, first_batch);
  }
  for (std::uint32_t b = first_batch_of_[step]; b < first_batch_of_[step + 1]; ++b) {
    last_read_[b] = std::max(last_read_[b], static_cast<std::uint32_t>(step));
    give_back(b, step, first_batch);
  }
}

void Forward::give_back_read(NodeRef consumer, ValueId input, std::size_t step,
                             std::size_t first_batch) {
  const Value& value = run_.tape(consumer).value(input);
  if (value.identity != 0) return;  // all samples may read it
  const NodeState& producer = run_.tapes[consumer.tape].nodes[value.node];
  if (producer.batch == kNone || producer.batch < first_batch || producer.value == nullptr) return;
  give_back(producer.batch - first_batch, step, first_batch);
}

void Forward::give_back(std::size_t of_batch, std::size_t step, std::size_t first_batch) {
  Batch& batch = run_.batches[first_batch + of_batch];
  if (last_read_[of_batch] != step || batch.out == nullptr) return;
  run_.values.give_back(batch.out, batch.out_bytes);
  for (NodeRef ref : run_.members_of(batch)) run_.state(ref).value = nullptr;
  batch.out = nullptr;
}

}  // namespace dynet_like::detail

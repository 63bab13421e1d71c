// Forgets values, and gives back their memory.
#include "dynet_like/exec/liveness.h"

#include <algorithm>
#include <utility>

#include "dynet_like/core/make_room.h"
#include "dynet_like/exec/empty_batches.h"
#include "dynet_like/exec/value_block.h"

namespace dynet_like::detail {

namespace {

// Whether all samples share the node. It then ran in the first lane, and its value stays.
bool is_shared(const Tape& tape, NodeId node) {
  return tape.value(tape.node(node).value).identity != 0;
}

// Removes the value of a node. In inference, the memory of a batch without values is given back. If
// few values are left, they are moved together and the rest is given back.
void forget_value(RunState& run, NodeState& state) {
  state.value = nullptr;
  Batch& batch = run.batches[state.batch];
  --batch.left;
  if (!run.options().inference || batch.out == nullptr) return;
  ValueBlock block(run, state.batch);
  if (batch.left == 0) {
    block.give_back();
  } else {
    block.move_together_if_few();
  }
}

// Finds a node among the nodes of its batch. Samples are mostly reverted in order, so the search
// begins where the last one ended.
NodeRef& node_of_batch(RunState& run, Batch& batch, NodeRef ref) {
  const auto begin = run.nodes.begin() + batch.first_node, end = begin + batch.nodes;
  auto found = std::find(begin + batch.search_from, end, ref);
  if (found == end) found = std::find(begin, end, ref);
  batch.search_from = static_cast<std::uint32_t>(found - begin);
  return *found;
}

}  // namespace

// Neither this nor anything else that `clear` calls allocates memory.
void Liveness::release() {
  results_.forget_values();
  ++releases_;
  ++forgets_;
  keep_shared_batches();
  for (const std::unique_ptr<Lane>& lane : lanes_.in_use()) {
    RunState& run = lane->run;
    if (lane != lanes_.all().front()) run.batches.clear();
    run.nodes.clear();
    run.values.reset();
    run.lists.reset();
  }
  for (TapeState& tape : common_.tapes) {
    std::fill(tape.nodes.begin(), tape.nodes.end(), NodeState{});
  }
  common_.inputs.reset();
  forget_gradients();
}

// Only the first lane has shared batches. Shared values keep all that backward needs of their
// nodes.
void Liveness::keep_shared_batches() {
  std::vector<Batch>& batches = lanes_.first().run.batches;
  std::uint32_t kept = 0;
  for (Batch& batch : batches) {
    if (batch.shared) batch.first_node = kept++;  // its future place, used below
  }
  for (const Identity identity : common_.met_shared) {
    SharedValue& shared = common_.shared[identity];
    if (shared.batch != kNone) shared.batch = batches[shared.batch].first_node;
  }
  std::erase_if(batches, [](const Batch& batch) { return !batch.shared; });
  for (Batch& batch : batches) batch.first_node = batch.nodes = 0;
}

void Liveness::forget_gradients() {
  for (const std::unique_ptr<Lane>& lane : lanes_.all()) lane->backward.forget();
  results_.forget_gradients();
}

void Liveness::forget_all() {
  release();
  for (TapeState& tape : common_.tapes) tape.nodes.clear();
  for (const std::unique_ptr<Lane>& lane : lanes_.all()) lane->run.batches.clear();
  common_.forget_shared();
  common_.shared_values.reset();
  common_.shared_lists.reset();
  common_.parameters.clear();
}

Liveness::Mark Liveness::mark(std::uint32_t tape) const {
  const std::size_t lane = lanes_.index_of(tape);
  const RunState& run = lanes_.all()[lane]->run;
  const Batch last = run.batches.empty() ? Batch{} : run.batches.back();
  return {releases_,
          common_.passes,
          static_cast<std::uint32_t>(lane),
          run.batches.size(),
          last.first_node + last.nodes,  // nodes of a failed run may lie behind them
          run.values.arena().mark(),
          run.lists.mark()};
}

// A mark is invalid if batches before it are gone: another tape of the lane was reverted to an
// earlier mark, and the memory may be in use again.
bool Liveness::is_good(const Mark& mark, std::size_t lane) const {
  if (mark.releases != releases_ || mark.lane != lane) return false;
  const std::vector<Batch>& batches = lanes_.all()[lane]->run.batches;
  if (batches.size() < mark.batches) return false;
  return mark.batches == 0 || batches[mark.batches - 1].pass <= mark.passes;
}

// The batch keeps a place for a reverted node: it then holds the number of items.
void Liveness::revert_node(RunState& run, NodeRef ref) {
  NodeState& state = run.state(ref);
  if (!state.has_batch()) return;
  Batch& batch = run.batches[state.batch];
  node_of_batch(run, batch, ref) = {run.items_of(ref), kNone};
  if (state.value != nullptr) forget_value(run, state);
}

// Batches since the mark lose the reverted nodes. If nothing else ran since then, the memory is
// given back. Shared values stay, since they have their own memory.
void Liveness::revert(std::uint32_t tape, std::size_t nodes, const Mark& since) {
  ++forgets_;
  results_.forget_values(tape, 0, ~std::size_t{0});
  TapeState& state = common_.tapes[tape];
  const std::size_t lane = lanes_.index_of(tape);
  RunState& run = lanes_.all()[lane]->run;
  for (auto node = static_cast<NodeId>(nodes); node < state.nodes.size(); ++node) {
    if (!is_shared(*state.tape, node)) revert_node(run, {tape, node});
  }
  const Mark mark = is_good(since, lane) ? since : Mark{};
  const auto behind = run.batches.begin() + static_cast<std::ptrdiff_t>(mark.batches);
  if (std::all_of(behind, run.batches.end(),
                  [](const Batch& batch) { return batch.left == 0 && !batch.shared; })) {
    for (std::size_t b = mark.batches; b < run.batches.size(); ++b) leave_batch(run, b);
    run.batches.resize(mark.batches);
    run.nodes.resize(mark.nodes);
    run.values.rewind(mark.values);
    run.lists.rewind(mark.lists);
  }
  state.nodes.resize(std::min(state.nodes.size(), nodes));
  while (!state.temporaries.empty() && state.temporaries.back().first >= nodes)
    state.temporaries.pop_back();
  if (!state.temporaries.empty()) {
    NodeId& end = state.temporaries.back().end;
    end = std::min(end, static_cast<NodeId>(nodes));
  }
  forget_gradients();
}

void Liveness::free_after_last_read(std::uint32_t tape, std::size_t first, std::size_t end) {
  if (!common_.options.inference) return;
  TapeState& state = common_.tapes[tape];
  end = std::min(end, state.tape->size());
  if (first >= end || end <= state.nodes.size()) return;
  NodeRange range{static_cast<NodeId>(first), static_cast<NodeId>(end)};
  make_room(state.temporaries);  // nothing fails from here on
  while (!state.temporaries.empty() && range.first <= state.temporaries.back().end) {
    range.first = std::min(range.first, state.temporaries.back().first);
    range.end = std::max(range.end, state.temporaries.back().end);
    state.temporaries.pop_back();
  }
  state.temporaries.push_back(range);
}

void Liveness::forget_values(std::uint32_t tape, std::size_t first, std::size_t end) {
  if (!common_.options.inference) return;
  free_after_last_read(tape, first, end);
  ++forgets_;
  results_.forget_values(tape, first, end);
  RunState& run = lanes_.of(tape).run;
  TapeState& state = common_.tapes[tape];
  end = std::min(end, state.nodes.size());
  for (auto node = static_cast<NodeId>(first); node < end; ++node) {
    NodeState& of_node = state.nodes[node];
    if (of_node.value != nullptr && of_node.has_batch() && !is_shared(*state.tape, node)) {
      forget_value(run, of_node);
    }
  }
}

void Liveness::end_sample(std::uint32_t tape) {
  forget_values(tape, 0, common_.tapes[tape].nodes.size());
}

void Liveness::forget_tape(std::uint32_t tape) {
  end_sample(tape);
  common_.tapes[tape].nodes.clear();
  common_.tapes[tape].temporaries.clear();
  drop_empty_batches(lanes_.of(tape).run);
}

}  // namespace dynet_like::detail

// Removes batches whose values are all gone.
#include "dynet_like/exec/empty_batches.h"

#include <utility>
#include <vector>

namespace dynet_like::detail {

namespace {

constexpr std::size_t kBatchesWorthADrop = 1000;

// Null for the place of a reverted node, and for a node that was reverted since.
NodeState* state_of(RunState& run, NodeRef ref) {
  if (ref.node == kNone) return nullptr;
  std::vector<NodeState>& nodes = run.tapes()[ref.tape].nodes;
  return ref.node < nodes.size() ? &nodes[ref.node] : nullptr;
}

void rename_shared(RunState& run, const Batch& batch, std::uint32_t number) {
  for (NodeRef ref : run.nodes_of(batch)) {
    if (state_of(run, ref) != nullptr) run.shared()[run.identity_of(ref)].batch = number;
  }
}

}  // namespace

// Nodes whose values are freed still name their batch.
void leave_batch(RunState& run, std::size_t batch) {
  for (NodeRef ref : run.nodes_of(run.batches[batch])) {
    if (NodeState* const state = state_of(run, ref); state != nullptr && state->batch == batch) {
      state->batch = NodeState::kGone;
    }
  }
}

void drop_empty_batches(RunState& run) {
  if (run.batches.size() < 2 * run.batches_after_drop + kBatchesWorthADrop) return;
  std::vector<NodeRef> nodes;
  std::uint32_t kept = 0;
  for (std::uint32_t b = 0; b < run.batches.size(); ++b) {
    Batch batch = run.batches[b];
    if (!batch.shared && batch.left == 0) {
      leave_batch(run, b);
      continue;
    }
    const auto first_node = static_cast<std::uint32_t>(nodes.size());
    for (NodeRef ref : run.nodes_of(batch)) {
      NodeState* const state = state_of(run, ref);
      const bool is_there = state != nullptr && state->batch == b;
      if (is_there) state->batch = kept;
      nodes.push_back(is_there ? ref : NodeRef{1, kNone});
    }
    if (batch.shared) rename_shared(run, batch, kept);
    batch.first_node = first_node;
    batch.search_from = 0;
    run.batches[kept++] = batch;
  }
  run.batches.resize(kept);
  run.nodes = std::move(nodes);
  run.batches_after_drop = kept;
}

}  // namespace dynet_like::detail

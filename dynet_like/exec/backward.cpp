// Goes through the batches of a lane in reverse, and collects contributions to shared values.
#include "dynet_like/exec/backward.h"

#include <algorithm>

#include "dynet_like/exec/checks.h"
#include "dynet_like/exec/recursion_run.h"
#include "dynet_like/exec/run_rows.h"

namespace dynet_like::detail {

void Backward::run(std::span<const ValueRef> roots, bool full,
                   std::span<const std::uint32_t> part_ends) {
  was_run_ = false;
  begin(roots, full);
  for (auto b = static_cast<std::uint32_t>(run_.batches.size()); b-- > 0;) {
    if (gradients_.of_batch(b) != nullptr) run_batch(b);
  }
  const TimelineScope scope(run_.track(), TimelineSpan::collect);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    while (contributions_.parts() < part_ends.size() && part_ends[contributions_.parts()] <= t) {
      contributions_.end_part();
    }
    if (full) sum_slots_of_sources(t);
    for (const Value& root : gradients_.plan.shared_roots(t)) {
      const Shape& shape = run_.types().shape(root.shape);
      contributions_.seed(run_.identity_of({t, root.node}), root,
                          run_.queue->ones(shape.dtype, shape.size));
    }
    contribute_to_shared(t);
  }
  while (contributions_.parts() < part_ends.size()) contributions_.end_part();
  was_run_ = true;
}

void Backward::begin(std::span<const ValueRef> roots, bool full) {
  const TimelineScope scope(run_.track(), TimelineSpan::plan_gradients);
  contributions_.clear();
  run_.recursions.gradients.reset();
  gradients_.begin(roots, full);
  run_.note_held(gradients_.plan.bytes());
}

void Backward::run_batch(std::uint32_t index) {
  const Batch& batch = run_.batches[index];
  if (batch.shared) return;
  find_nodes(batch);
  const NodeType& type = *batch.type;
  if (type.inputs == 0 || nodes_.empty()) return;
  if (RecursionRun* const recursion = run_.recursions.find(index)) {
    TimelineScope scope(run_.track(), TimelineSpan::recursion_backward);
    scope.count(batch.nodes);
    return recursion->backward(gradients_, run_.nodes_of(batch));
  }
  lists_.reset();
  const TypeInputs& of_type = gradients_.plan.inputs_of_type(nodes_[0]);
  auto* dx = lists_.allocate_array<Destination>(type.inputs);
  std::fill_n(dx, type.inputs, Destination());
  for (unsigned j = 0; j < type.inputs; ++j) {
    if (!of_type.is_collected(j)) dx[j] = destination(j);
  }
  Rows rows = batch;
  rows.dy = gradients_.of_batch(index);
  rows.deferred = gradients_.deferred_of(index);
  run_backward(run_, *run_.queue, rows, {items_, dx, nodes_, nodes_.size()},
               run_.counts.of_types[type.id], lists_);
}

// Finds the nodes that take part, and completes their gradients.
void Backward::find_nodes(const Batch& batch) {
  nodes_.clear();
  items_.clear();
  edges_.clear();
  std::uint32_t position = 0;
  for (NodeRef ref : run_.nodes_of(batch)) {
    if (ref.node == kNone) {  // reverted: its place in the batch remains
      position += ref.tape;
      continue;
    }
    const std::uint32_t items = batch.items == batch.nodes ? 1 : run_.items_of(ref);
    const NodeGradient& node = gradients_.plan.at(ref);
    if (node.active) {
      nodes_.push_back(ref);
      const EdgeGradient* const edges =
          gradients_.plan.edges(ref.tape) + run_.tape(ref).node(ref.node).first_edge;
      __builtin_prefetch(edges);  // edges are scattered in memory
      edges_.push_back(edges);
      for (std::uint32_t item = 0; item < items; ++item) {
        items_.push_back(position + item);
      }
      if (node.has_slots) gradients_.sum_slots(ref);
      if (run_.options().detect_anomaly) check_gradient(run_, ref, gradients_.at(node.place));
    }
    position += items;
  }
}

// The destinations of contributions through input j; empty if none is wanted from the kernel.
Destination Backward::destination(unsigned j) {
  const auto is_wanted = [&](const EdgeGradient* edges) { return edges[j].place != kNowhere; };
  if (std::none_of(edges_.begin(), edges_.end(), is_wanted)) return {};
  const std::size_t items = items_.size();
  const bool single = items == nodes_.size();
  auto** places = lists_.allocate_array<void*>(items);
  auto* add = lists_.allocate_array<std::uint8_t>(items);
  std::size_t i = 0;
  for (std::size_t m = 0; m < nodes_.size(); ++m) {
    const EdgeGradient& edge = edges_[m][j];
    const std::uint32_t count = single ? 1 : run_.items_of(nodes_[m]);
    const std::size_t stride = count > 1 ? stride_of(nodes_[m], j) : 0;
    std::byte* const first = gradients_.at(edge.place);
    for (std::uint32_t item = 0; item < count; ++item, ++i) {
      places[i] = first == nullptr ? nullptr : first + item * stride;
      add[i] = edge.arrival == Arrival::added;
    }
  }
  return {places, add};
}

// The distance in bytes between consecutive items' contributions through input j; 0 if all share
// one.
std::size_t Backward::stride_of(NodeRef consumer, unsigned j) const {
  const Tape& tape = run_.tape(consumer);
  const std::uint32_t edge = tape.node(consumer.node).first_edge + j;
  const Value& value = tape.value(tape.edges()[edge]);
  if (gradients_.plan.is_open(consumer, edge)) return 0;
  const Shape& shape = tape.types().shape(value.shape);
  const EdgeGradient& gradient = gradients_.plan.edges(consumer.tape)[edge];
  const bool in_place = value.identity == 0 && gradient.arrival <= Arrival::added;
  return (in_place ? value.stride : shape.size) * size_of(shape.dtype);
}

// Sources run in no batch, so their slots have not been summed yet.
void Backward::sum_slots_of_sources(std::uint32_t tape) {
  const std::span<const NodeGradient> nodes = gradients_.plan.nodes(tape);
  for (NodeId node = 0; node < nodes.size(); ++node) {
    const bool is_source = run_.tapes()[tape].nodes[node].batch == kNone;
    if (is_source && nodes[node].active && nodes[node].has_slots)
      gradients_.sum_slots({tape, node});
  }
}

// Nodes contribute in recording order.
void Backward::contribute_to_shared(std::uint32_t tape) {
  const std::span<const NodeGradient> nodes = gradients_.plan.nodes(tape);
  for (NodeId node = 0; node < nodes.size(); ++node) {
    if (!nodes[node].reads_shared) continue;
    const NodeRef ref{tape, node};
    if (RecursionRun* const recursion = run_.recursions.find(run_.state(ref).batch)) {
      recursion->contribute(ref, contributions_);
      // Its inputs with columns may depend on parameters alone: they have slots, like inputs of
      // other nodes.
      contribute(ref, recursion->columns());
      continue;
    }
    const bool by_type = !nodes[node].reads_unnamed && run_.items_of(ref) == 1;
    const bool is_done =
        by_type && contributions_.contribute_by_type(ref, gradients_.contribution_of(ref));
    if (!is_done) contribute(ref, run_.tape(ref).inputs_of(node).size());
  }
}

// Collects the contributions of a node through its first inputs.
void Backward::contribute(NodeRef ref, std::size_t inputs) {
  const Tape& tape = run_.tape(ref);
  const std::uint32_t first_edge = tape.node(ref.node).first_edge;
  for (std::uint32_t j = 0; j < inputs; ++j) {
    const Value& value = tape.value(tape.edges()[first_edge + j]);
    if (value.identity == 0 || !value.reaches_parameter) continue;
    const EdgeGradient& edge = gradients_.plan.edges(ref.tape)[first_edge + j];
    contributions_.contribute(ref, j, gradients_.at(edge.place), gradients_.contribution_of(ref));
  }
}

const std::byte* Backward::gradient_of(NodeRef ref) const {
  if (!was_run_) return nullptr;
  const std::span<const NodeGradient> nodes = gradients_.plan.nodes(ref.tape);
  if (ref.node >= nodes.size() || !nodes[ref.node].active) return nullptr;
  return gradients_.at(nodes[ref.node].place);
}

}  // namespace dynet_like::detail

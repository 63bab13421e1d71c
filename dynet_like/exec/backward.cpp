// Goes through the batches of a lane in reverse, and collects contributions to shared values.
#include "dynet_like/exec/backward.h"

#include <algorithm>

#include "dynet_like/exec/checks.h"
#include "dynet_like/exec/recursion.h"
#include "dynet_like/exec/run_rows.h"

namespace dynet_like::detail {

void Backward::run(std::span<const ValueRef> roots, bool full,
                   std::span<const std::uint32_t> shard_ends) {
  was_run_ = false;
  begin(roots, full);
  for (auto b = static_cast<std::uint32_t>(run_.batches.size()); b-- > 0;) {
    if (gradients_.plan.batches[b].gradients != kNowhere) differentiate_batch(b);
  }
  const TimelineScope scope(run_.track(), TimelineSpan::collect);
  for (std::uint32_t t = run_.first_tape; t < run_.end_tape; ++t) {
    while (contributions_.shards() < shard_ends.size() &&
           shard_ends[contributions_.shards()] <= t) {
      contributions_.end_shard();
    }
    if (full) sum_slots_of_sources(t);
    for (const Value& root : gradients_.plan.tapes[t].shared_roots) {
      const Shape& shape = run_.types().shape(root.shape);
      contributions_.seed(run_.identity_of({t, root.node}), root,
                          run_.queue->ones(shape.dtype, shape.size));
    }
    contribute_to_shared(t);
  }
  while (contributions_.shards() < shard_ends.size()) contributions_.end_shard();
  was_run_ = true;
}

// Makes the plan, and initialises the gradients.
void Backward::begin(std::span<const ValueRef> roots, bool full) {
  const TimelineScope scope(run_.track(), TimelineSpan::plan_gradients);
  contributions_.clear();
  run_.recursions.gradients.reset();
  const GradientPlan& plan = gradients_.plan;
  make_gradient_plan(run_, roots, full, gradients_.plan);
  if (plan.bytes > gradients_.block.size()) {
    gradients_.block = {};
    // Add some room, because the next minibatch usually needs a little more.
    gradients_.block = Block(plan.bytes + plan.bytes / 4, run_.common.memory);
  }
  for (const GradientPlan::Elements& zeros : plan.zeros) {
    run_.queue->add_all(zeros.dtype, gradients_.at(zeros.at), zeros.count, {}, SumStart::zero);
  }
  for (const GradientPlan::Elements& ones : plan.ones) {
    const void* addend = run_.queue->ones(ones.dtype, ones.count);
    run_.queue->add_all(ones.dtype, gradients_.at(ones.at), ones.count, {&addend, nullptr, 1});
  }
  run_.note_held(plan.bytes);
}

void Backward::differentiate_batch(std::uint32_t index) {
  const Batch& batch = run_.batches[index];
  if (batch.shared) return;
  lists_.reset();
  find_nodes(batch);
  const NodeType& type = *batch.type;
  if (type.inputs == 0 || nodes_.empty()) return;
  if (batch.recursion != nullptr) {
    TimelineScope scope(run_.track(), TimelineSpan::recursion_backward);
    scope.count(batch.nodes);
    return differentiate(run_, *batch.recursion, gradients_, run_.nodes_of(batch));
  }
  const TypeInputs& of_type = gradients_.plan.types[run_.tape(nodes_[0]).node(nodes_[0].node).type];
  auto* dx = lists_.allocate_array<Destination>(type.inputs);
  std::fill_n(dx, type.inputs, Destination());
  for (unsigned j = 0; j < type.inputs; ++j) {
    if (!of_type.is_collected(j)) dx[j] = destination(j);
  }
  Rows rows = batch;
  rows.dy = gradients_.at(gradients_.plan.batches[index].gradients);
  rows.deferred = gradients_.at(gradients_.plan.batches[index].deferred);
  backward_rows(run_, *run_.queue, rows, {items_, dx, nodes_, nodes_.size()},
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
    const NodeGradient& node = gradients_.plan.node(ref);
    if (node.active) {
      nodes_.push_back(ref);
      edges_.push_back(gradients_.edges_of(run_, ref));
      __builtin_prefetch(edges_.back());  // edges are scattered in memory
      for (std::uint32_t item = 0; item < items; ++item) items_.push_back(position + item);
      if (node.has_slots) sum_slots(ref);
      if (run_.options().detect_anomaly) check_gradient(run_, ref, gradients_.at(node.at));
    }
    position += items;
  }
}

// The destinations of contributions through input j; empty if none is wanted from the kernel.
Destination Backward::destination(unsigned j) {
  const auto is_wanted = [&](const EdgeGradient* edges) { return edges[j].at != kNowhere; };
  if (std::none_of(edges_.begin(), edges_.end(), is_wanted)) return {};
  const std::size_t items = items_.size();
  const bool single = items == nodes_.size();
  auto** places = lists_.allocate_array<void*>(items);
  auto* add = lists_.allocate_array<std::uint8_t>(items);
  std::size_t i = 0;
  for (std::size_t m = 0; m < nodes_.size(); ++m) {
    const EdgeGradient& edge = edges_[m][j];
    const std::uint32_t count = single ? 1 : run_.items_of(nodes_[m]);
    const std::size_t stride = count > 1 ? stride_of(nodes_[m], j, edge) : 0;
    std::byte* const first = gradients_.at(edge.at);
    for (std::uint32_t item = 0; item < count; ++item, ++i) {
      places[i] = first == nullptr ? nullptr : first + item * stride;
      add[i] = edge.arrival == Arrival::added;
    }
  }
  return {places, add};
}

// The distance in bytes between consecutive items' contributions through input j; 0 if all share
// one: kernels sum the contributions of a node's items to an input with any number of columns.
std::size_t Backward::stride_of(NodeRef consumer, unsigned j, const EdgeGradient& edge) const {
  const Tape& tape = run_.tape(consumer);
  if (tape.type_of(consumer.node).op->is_open(j)) return 0;
  const Value& value = tape.value(tape.inputs_of(consumer.node)[j]);
  const Shape& shape = tape.types().shape(value.shape);
  const bool in_place = value.identity == 0 && !waits(edge.arrival);
  return (in_place ? value.stride : shape.size) * size_of(shape.dtype);
}

// Adds what waits in slots to the gradient of a node.
void Backward::sum_slots(NodeRef ref) {
  const NodeGradient& node = gradients_.plan.node(ref);
  const Tape& tape = run_.tape(ref);
  const DType dtype = tape.type_of(ref.node).signature.dtype;
  const std::size_t element = size_of(dtype);
  const std::vector<EdgeGradient>& edges = gradients_.plan.tapes[ref.tape].edges;
  waiting_.clear();
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    const EdgeGradient& edge = edges[e];
    if (!waits(edge.arrival)) continue;
    if (edge.is_recursion) {
      const auto behind = std::ranges::upper_bound(tape.nodes(), e, {}, &Node::first_edge);
      const auto consumer = static_cast<NodeId>(behind - tape.nodes().begin() - 1);
      const RecursionBatch& recursion = *run_.batches[edge.batch].recursion;
      const std::size_t n = recursion.index_of(run_.state({ref.tape, consumer}).value);
      const auto& addends =
          recursion.contributions
              .column_addends[n * recursion.column_inputs() + e - tape.node(consumer).first_edge];
      waiting_.insert(waiting_.end(), addends.begin(), addends.end());
      continue;
    }
    const Value& value = tape.value(tape.edges()[e]);
    const std::uint32_t elements = tape.types().shape(value.shape).size;
    const std::uint32_t slots = std::max(edge.copies, value.items);
    for (std::uint32_t i = 0; i < slots; ++i) {
      // Items that share one value contribute from the last to the first, as nodes do.
      const std::uint32_t slot = edge.copies == 1 ? i : slots - 1 - i;
      const std::size_t offset = value.offset + (value.items == 1 ? 0 : slot * value.stride);
      waiting_.push_back({gradients_.at(node.at + offset * element),
                          gradients_.at(edge.at) + std::size_t{slot} * elements * element, elements,
                          edge.arrival == Arrival::slot && (i == 0 || edge.copies == 1)});
    }
  }
  add_waiting(*run_.queue, dtype, waiting_, lists_);
}

// Sources run in no batch, so their slots have not been summed yet.
void Backward::sum_slots_of_sources(std::uint32_t tape) {
  const std::vector<NodeGradient>& nodes = gradients_.plan.tapes[tape].nodes;
  lists_.reset();
  for (NodeId node = 0; node < nodes.size(); ++node) {
    const bool is_source = run_.tapes()[tape].nodes[node].batch == kNone;
    if (is_source && nodes[node].active && nodes[node].has_slots) sum_slots({tape, node});
  }
}

// The gradient of a node, or the numbers that its kernel left for weights.
const std::byte* Backward::contribution_of(NodeRef ref) const {
  const NodeState& state = run_.state(ref);
  const Batch& batch = run_.batches[state.batch];
  const GradientPlan::OfBatch& of_batch = gradients_.plan.batches[state.batch];
  const auto offset = static_cast<std::size_t>(state.value - batch.out);
  if (of_batch.deferred == kNowhere) return gradients_.at(of_batch.gradients) + offset;
  return gradients_.at(of_batch.deferred) + offset / batch.stride() * batch.deferred_stride();
}

// Nodes contribute in recording order.
void Backward::contribute_to_shared(std::uint32_t tape) {
  const std::vector<NodeGradient>& nodes = gradients_.plan.tapes[tape].nodes;
  for (NodeId node = 0; node < nodes.size(); ++node) {
    if (!nodes[node].reads_shared) continue;
    const NodeRef ref{tape, node};
    const NodeState& state = run_.state(ref);
    if (const RecursionBatch* const recursion = run_.batches[state.batch].recursion.get()) {
      detail::contribute(*recursion, recursion->index_of(state.value), contributions_);
      // Its inputs with columns may depend on parameters alone: they have slots, like inputs of
      // other nodes.
      contribute(ref, recursion->column_inputs());
      continue;
    }
    const bool by_type = !nodes[node].reads_unnamed && run_.items_of(ref) == 1;
    const bool is_done = by_type && contributions_.contribute_by_type(ref, contribution_of(ref));
    if (!is_done) contribute(ref, run_.tape(ref).inputs_of(node).size());
  }
}

// Collects the contributions of a node through its first inputs.
void Backward::contribute(NodeRef ref, std::size_t inputs) {
  const Tape& tape = run_.tape(ref);
  const std::span<const ValueId> values = tape.inputs_of(ref.node);
  for (std::uint32_t j = 0; j < inputs; ++j) {
    const Value& value = tape.value(values[j]);
    if (value.identity == 0 || !value.reaches_parameter) continue;
    const EdgeGradient& edge = gradients_.edges_of(run_, ref)[j];
    contributions_.contribute(ref, j, gradients_.at(edge.at), contribution_of(ref));
  }
}

const std::byte* Backward::gradient_of(NodeRef ref) const {
  if (!was_run_ || ref.tape >= gradients_.plan.tapes.size()) return nullptr;
  const std::vector<NodeGradient>& nodes = gradients_.plan.tapes[ref.tape].nodes;
  if (ref.node >= nodes.size() || !nodes[ref.node].active) return nullptr;
  return gradients_.at(nodes[ref.node].at);
}

}  // namespace dynet_like::detail

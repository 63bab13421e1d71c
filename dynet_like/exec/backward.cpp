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
    if (gradients_.plan.batches[b].active > 0) differentiate_batch(b);
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
  run_.find_tapes();
  const GradientPlan& plan = gradients_.plan;
  make_gradient_plan(run_, roots, full, gradients_.plan);
  if (plan.bytes > gradients_.block.size()) {
    gradients_.block = {};
    // Add some room, because the next minibatch usually needs a little more.
    gradients_.block = Block(plan.bytes + plan.bytes / 4, run_.common.memory);
  }
  const auto add = [&](const GradientPlan::Elements& to, const Addends& addends, SumStart start) {
    std::byte* const first = gradients_.of(run_, to.node) + to.first * size_of(to.dtype);
    run_.queue->add_all(to.dtype, first, to.count, addends, start);
  };
  for (const GradientPlan::Elements& zeros : plan.zeros) add(zeros, {}, SumStart::zero);
  for (const GradientPlan::Elements& ones : plan.ones) {
    const void* addend = run_.queue->ones(ones.dtype, ones.count);
    add(ones, {&addend, nullptr, 1}, SumStart::there);
  }
  last_stretch_ = plan.stretches.data();
  run_.note_held(plan.bytes);
}

void Backward::differentiate_batch(std::uint32_t index) {
  const Batch& batch = run_.batches[index];
  const GradientPlan::OfBatch& of_batch = gradients_.plan.batches[index];
  lists_.reset();
  find_members(batch, of_batch);
  complete_gradients(of_batch);
  const NodeType& type = *batch.type;
  if (type.inputs == 0) return;
  if (batch.recursion != nullptr) {
    TimelineScope scope(run_.track(), TimelineSpan::recursion_backward);
    scope.count(batch.nodes);
    return differentiate(run_, *batch.recursion, gradients_, run_.nodes_of(batch));
  }
  const TypeInputs& of_type = gradients_.plan.types[type.id];
  auto* dx = lists_.allocate_array<Destination>(type.inputs);
  std::fill_n(dx, type.inputs, Destination());
  for (unsigned j = 0; j < type.inputs; ++j) {
    if (!of_type.is_collected(j)) dx[j] = destination(batch, j);
  }
  Rows rows = batch;
  rows.dy = gradients_.at(of_batch.gradients);
  rows.deferred = gradients_.at(of_batch.deferred);
  backward_rows(run_, *run_.queue, rows, {items_, dx, nodes_, members_.size()},
                run_.counts.of_types[type.id], lists_);
}

// Finds the nodes that take part. They are scattered in memory, and so are their edges.
void Backward::find_members(const Batch& batch, const GradientPlan::OfBatch& of_batch) {
  members_.clear();
  items_.clear();
  const bool all = of_batch.active == batch.nodes, single = batch.items == batch.nodes;
  std::uint32_t first_item = 0;
  for (NodeRef ref : run_.nodes_of(batch)) {
    if (ref.node == kNone) {  // reverted: its place in the batch remains
      first_item += ref.tape;
      continue;
    }
    const std::uint32_t items = single ? 1 : run_.items_of(ref);
    if (all || gradients_.plan.node(ref).active) {
      members_.push_back({ref, gradients_.edges_of(run_, ref), first_item, items});
      __builtin_prefetch(members_.back().edges);
    }
    first_item += items;
  }
  item_count_ = batch.items;
  if (!all) {
    for (const Member& member : members_) {
      for (std::uint32_t i = 0; i < member.items; ++i) items_.push_back(member.first_item + i);
    }
    item_count_ = items_.size();
  }
}

void Backward::complete_gradients(const GradientPlan::OfBatch& of_batch) {
  nodes_.clear();
  if (of_batch.has_slots) {
    for (const Member& member : members_) sum_slots(member.ref);
  }
  if (!run_.options().detect_anomaly && !run_.options().verify_batching) return;
  for (const Member& member : members_) nodes_.push_back(member.ref);
  if (!run_.options().detect_anomaly) return;
  for (NodeRef ref : nodes_) check_gradient(run_, ref, gradients_.of(run_, ref));
}

// The destinations of contributions through input j; empty if none is wanted from the kernel.
Destination Backward::destination(const Batch& batch, unsigned j) {
  auto** const places = lists_.allocate_array<void*>(item_count_);
  auto* const add = lists_.allocate_array<std::uint8_t>(item_count_);
  const Operand& in = batch.in[j];
  bool any = false;
  std::size_t i = 0;
  for (const Member& member : members_) {
    const EdgeGradient& edge = member.edges[j];
    any |= edge.is_wanted;
    if (edge.is_wanted && !edge.has_place && member.items == 1) {
      places[i] = gradient_at(in.at<std::byte>(member.first_item));
    } else {
      find_places(member, in, edge, batch.element(), places + i);
    }
    for (const std::size_t end = i + member.items; i < end; ++i) {
      add[i] = edge.arrival == Arrival::added;
    }
  }
  return any ? Destination{places, add} : Destination{};
}

// The places of the contributions of a node's items.
void Backward::find_places(const Member& member, const Operand& in, const EdgeGradient& edge,
                           std::size_t element, void** places) {
  const ContributionPlace* const place =
      edge.has_place ? &gradients_.plan.places[edge.link] : nullptr;
  for (std::uint32_t item = 0; item < member.items; ++item) {
    if (!edge.is_wanted) {
      places[item] = nullptr;
    } else if (place != nullptr) {
      places[item] = gradients_.at(place->at) + std::size_t{item} * place->step() * element;
    } else {
      places[item] = gradient_at(in.at<std::byte>(member.first_item + item));
    }
  }
}

// The gradient of this element, which a node computed.
std::byte* Backward::gradient_at(const std::byte* value) {
  const auto is_in = [&](const GradientPlan::Stretch& stretch) {
    return static_cast<std::size_t>(value - stretch.values) < stretch.bytes;
  };
  if (!is_in(*last_stretch_)) {
    const auto behind = std::ranges::upper_bound(gradients_.plan.stretches, value, {},
                                                 &GradientPlan::Stretch::values);
    last_stretch_ = &*std::prev(behind);
  }
  return gradients_.block.data() + last_stretch_->gradients + (value - last_stretch_->values);
}

// Adds what waits in slots to the gradient of a node.
void Backward::sum_slots(NodeRef ref) {
  const NodeGradient& node = gradients_.plan.node(ref);
  if (node.places == 0) return;
  const DType dtype = run_.tape(ref).type_of(ref.node).signature.dtype;
  std::byte* const gradient = gradients_.of(run_, ref);
  waiting_.clear();
  for (std::uint32_t p = 0; p < node.places; ++p) {
    const ContributionPlace& place = gradients_.plan.places[node.first_place + p];
    if (waits(place.arrival)) list_slots(ref, place, gradient, size_of(dtype));
  }
  add_waiting(*run_.queue, dtype, waiting_, lists_);
}

// Lists what waits in these slots to be added to the gradient of a node.
void Backward::list_slots(NodeRef ref, const ContributionPlace& place, std::byte* gradient,
                          std::size_t element) {
  if (place.at == kNowhere) {
    const Tape& tape = run_.tape(ref);
    const NodeRef consumer{ref.tape, consumer_of(tape, place.edge)};
    const NodeState& state = run_.state(consumer);
    const RecursionBatch& recursion = *run_.batches[state.batch].recursion;
    const std::size_t input = place.edge - tape.node(consumer.node).first_edge;
    const auto& addends =
        recursion.contributions
            .column_addends[recursion.index_of(state.value) * recursion.column_inputs() + input];
    waiting_.insert(waiting_.end(), addends.begin(), addends.end());
    return;
  }
  for (std::uint32_t i = 0; i < place.slots(); ++i) {
    // Items that share one value contribute from the last to the first, as nodes do.
    const std::size_t slot = place.copies == 1 ? i : place.slots() - 1 - i;
    const std::size_t first = place.offset + (place.items == 1 ? 0 : slot * place.stride);
    const bool is_first = place.arrival == Arrival::slot && (i == 0 || place.copies == 1);
    waiting_.push_back({gradient + first * element,
                        gradients_.at(place.at) + slot * place.elements * element, place.elements,
                        is_first});
  }
}

// Sources run in no batch, so their slots have not been summed yet.
void Backward::sum_slots_of_sources(std::uint32_t tape) {
  const std::vector<NodeGradient>& nodes = gradients_.plan.tapes[tape].nodes;
  lists_.reset();
  for (NodeId node = 0; node < nodes.size(); ++node) {
    const bool is_source = run_.tapes()[tape].nodes[node].batch == kNone;
    if (is_source && nodes[node].active) sum_slots({tape, node});
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
    const bool is_dense = tape.type_of(ref.node).shared_gradients[j] == SharedGradient::dense;
    const std::byte* const slots =
        is_dense ? gradients_.place_of(run_, ref.tape, gradients_.edges_of(run_, ref)[j], value)
                 : nullptr;
    contributions_.contribute(ref, j, slots, contribution_of(ref));
  }
}

const std::byte* Backward::gradient_of(NodeRef ref) const {
  if (!was_run_ || ref.tape >= gradients_.plan.tapes.size()) return nullptr;
  const std::vector<NodeGradient>& nodes = gradients_.plan.tapes[ref.tape].nodes;
  if (ref.node >= nodes.size() || !nodes[ref.node].active) return nullptr;
  return gradients_.of(run_, ref);
}

}  // namespace dynet_like::detail

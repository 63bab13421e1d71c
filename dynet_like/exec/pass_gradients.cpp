// The memory of the gradients of a pass.
#include "dynet_like/exec/pass_gradients.h"

#include <algorithm>

#include "dynet_like/exec/recursion_backward.h"

namespace dynet_like::detail {

void PassGradients::begin(std::span<const ValueRef> roots, bool full) {
  plan.make(roots, full);
  if (const std::size_t bytes = plan.bytes(); bytes > block_.size()) {
    block_ = {};
    // Add some room, because the next minibatch usually needs a little more.
    block_ = Block(bytes + bytes / 4, run_.common.memory);
  }
  for (const GradientPlan::Elements& zeros : plan.zeros()) {
    run_.queue->add_all(zeros.dtype, at(zeros.place), zeros.count, {}, SumStart::zero);
  }
  for (const GradientPlan::Elements& ones : plan.ones()) {
    const void* addend = run_.queue->ones(ones.dtype, ones.count);
    run_.queue->add_all(ones.dtype, at(ones.place), ones.count, {&addend, nullptr, 1});
  }
}

const std::byte* PassGradients::contribution_of(NodeRef ref) const {
  const NodeState& state = run_.state(ref);
  const Batch& batch = run_.batches[state.batch];
  const auto offset = static_cast<std::size_t>(state.value - batch.out);
  const std::byte* const deferred = deferred_of(state.batch);
  if (deferred == nullptr) return of_batch(state.batch) + offset;
  return deferred + offset / batch.stride() * batch.deferred_stride();
}

// Adds a recursion's listed contributions to parts of a matrix.
void PassGradients::add_listed(std::uint32_t tape_index, std::uint32_t edge) {
  const Tape& tape = *run_.tapes()[tape_index].tape;
  const auto behind = std::ranges::upper_bound(tape.nodes(), edge, {}, &Node::first_edge);
  const auto consumer = static_cast<NodeId>(behind - tape.nodes().begin() - 1);
  const RecursionRun& recursion = *run_.recursions.find(plan.edges(tape_index)[edge].batch);
  add_waiting(
      *run_.queue, tape.dtype(),
      recursion.passed().waiting({tape_index, consumer}, edge - tape.node(consumer).first_edge));
}

void PassGradients::sum_slots(NodeRef ref) {
  const NodeGradient& node = plan.at(ref);
  const Tape& tape = run_.tape(ref);
  const DType dtype = tape.type_of(ref.node).signature.dtype;
  const std::size_t element = size_of(dtype);
  const EdgeGradient* const edges = plan.edges(ref.tape);
  // Consecutive slots for one place are added in one call.
  Place sum = kNowhere;
  std::size_t size = 0;
  SumStart start = SumStart::there;
  addends_.clear();
  const auto flush = [&] {
    if (!addends_.empty()) {
      run_.queue->add_all(dtype, at(sum), size, {addends_.data(), nullptr, addends_.size()}, start);
    }
    addends_.clear();
    start = SumStart::there;
  };
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    const EdgeGradient& edge = edges[e];
    if (edge.arrival <= Arrival::added) continue;
    if (edge.arrival == Arrival::listed) {
      flush();
      sum = kNowhere;
      add_listed(ref.tape, e);
      continue;
    }
    const Value& value = tape.value(tape.edges()[e]);
    const std::size_t elements = tape.types().shape(value.shape).size;
    const std::uint32_t parts = std::max(edge.copies, value.items);
    for (std::uint32_t i = 0; i < parts; ++i) {
      // Items that share one value contribute from the last to the first, as nodes do.
      const std::uint32_t part = edge.copies == 1 ? i : parts - 1 - i;
      const std::size_t offset = value.offset + (value.items == 1 ? 0 : part * value.stride);
      const Place place = node.place + offset * element;
      const bool is_first = edge.arrival == Arrival::slot && (i == 0 || edge.copies == 1);
      if (place != sum || elements != size || is_first) flush();
      sum = place;
      size = elements;
      if (is_first) start = SumStart::first;
      addends_.push_back(at(edge.place) + part * size * element);
    }
  }
  flush();
}

}  // namespace dynet_like::detail

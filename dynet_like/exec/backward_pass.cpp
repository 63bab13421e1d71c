// The block of gradients, and calls of kernels.
#include "dynet_like/exec/backward_pass.h"

#include <algorithm>

#include "dynet_like/exec/backward_call.h"
#include "dynet_like/exec/packing.h"

namespace dynet_like::detail {

void BackwardPass::begin(std::span<const ValueRef> roots, bool full, bool whole_cells) {
  contributions.clear();
  run.recursions.gradients.reset();
  plan.make(roots, full, whole_cells);
  runs_cells_ = whole_cells;
  if (const std::size_t bytes = plan.nodes.bytes(); bytes > block_.size()) {
    block_ = {};
    // A little more than was asked for: what the next minibatch asks for is a little more, too.
    block_ = Block(bytes + bytes / 4, run.common.memory);
  }
  for (const NodeGradients::Elements& zeros : plan.nodes.zeros()) {
    run.queue->add_all(zeros.dtype, at(zeros.place), zeros.count, {}, SumStart::zero);
  }
  for (const NodeGradients::Elements& ones : plan.nodes.ones()) {
    const void* addend = run.queue->ones(ones.dtype, ones.count);
    run.queue->add_all(ones.dtype, at(ones.place), ones.count, {&addend, nullptr, 1});
  }
}

std::byte* BackwardPass::gradient_of(NodeRef ref) const {
  const NodeState& state = run.state(ref);
  return gradients_of(state.batch) + (state.value - run.batches[state.batch].out);
}

void BackwardPass::call_kernel(std::uint32_t index, const Destination* dx) {
  const Batch& batch = run.batches[index];
  const NodeType& type = run.types()[batch.type];
  const bool wanted =
      std::any_of(dx, dx + type.inputs, [](const Destination& to) { return to.wanted(); });
  std::byte* const deferred = deferred_of(index);
  if (!wanted && deferred == nullptr) return;
  const BackwardItems items(lists, batch, positions);
  Operand* const in = type.op->needs_inputs() ? items.inputs(type) : nullptr;
  for (unsigned j = 0; in != nullptr && j < type.inputs; ++j) {
    if (in[j].shared != nullptr) in[j].packed = transpose(type, j, dx);
  }
  BackwardCall call = items.call(type, in, items.places(gradients_of(index), batch.stride), dx);
  if (deferred != nullptr) {
    const Signature& signature = type.signature;
    call.deferred = items.places(deferred, signature.deferred_size * size_of(signature.dtype));
  }
  // Of cells there are no members to tell of: their pass is compared as a whole.
  const bool knows_members = !runs_cells_;
  // Of cells every node is one item.
  const bool single = batch.items == batch.members;
  run_backward_call(run, *run.queue, batch.type, call,
                    knows_members ? std::span<const NodeRef>(members) : std::span<const NodeRef>(),
                    single ? positions.size() : members.size());
}

const void* BackwardPass::transpose(const NodeType& type, unsigned j, const Destination* dx) {
  if (j + 1 == type.inputs || !dx[j + 1].wanted()) return nullptr;
  return packed_transpose(run, shared_matrix(run, type, members[0], j));
}

void BackwardPass::sum_slots(NodeRef ref) {
  const NodeGradient& node = plan.nodes.at(ref);
  const Tape& tape = run.tape(ref);
  const DType dtype = tape.type_of(ref.node).signature.dtype;
  const std::size_t element = size_of(dtype);
  const EdgeGradient* const edges = plan.nodes.edges(ref.tape);
  // Slots for one place that follow one another are added in one call.
  Place sum = kNowhere;
  std::size_t size = 0;
  SumStart start = SumStart::there;
  addends_.clear();
  const auto flush = [&] {
    if (!addends_.empty()) {
      run.queue->add_all(dtype, at(sum), size, {addends_.data(), nullptr, addends_.size()}, start);
    }
    addends_.clear();
    start = SumStart::there;
  };
  for (std::uint32_t e = node.first_consumer; e != kNone; e = edges[e].next) {
    const EdgeGradient& edge = edges[e];
    if (edge.contribution <= Contribution::added) continue;
    const Value& value = tape.value(tape.edges()[e]);
    const std::size_t elements = tape.types().shape(value.shape).size;
    const std::uint32_t parts = std::max(edge.copies, value.items);
    for (std::uint32_t part = 0; part < parts; ++part) {
      const std::size_t offset = value.offset + (value.items == 1 ? 0 : part * value.stride);
      const Place place = node.place + offset * element;
      const bool is_first =
          edge.contribution == Contribution::slot && (part == 0 || edge.copies == 1);
      if (place != sum || elements != size || is_first) flush();
      sum = place;
      size = elements;
      if (is_first) start = SumStart::first;
      addends_.push_back(at(edge.place) + part * size * element);
    }
  }
  flush();
}

const std::byte* BackwardPass::contribution_of(NodeRef ref) const {
  const NodeState& state = run.state(ref);
  const std::byte* const deferred = deferred_of(state.batch);
  if (deferred == nullptr) return gradient_of(ref);
  const auto offset = static_cast<std::size_t>(state.value - run.batches[state.batch].out);
  const Signature& signature = run.tape(ref).type_of(ref.node).signature;
  const std::size_t item = offset / (signature.output_size * size_of(signature.dtype));
  return deferred + item * signature.deferred_size * size_of(signature.dtype);
}

void BackwardPass::contribute(NodeRef ref) {
  const auto inputs = static_cast<std::uint32_t>(run.tape(ref).inputs_of(ref.node).size());
  for (std::uint32_t j = 0; j < inputs; ++j) contribute(ref, j);
}

void BackwardPass::contribute(NodeRef ref, std::uint32_t input) {
  const Tape& tape = run.tape(ref);
  const std::uint32_t edge = tape.node(ref.node).first_edge + input;
  const Value& value = tape.value(tape.edges()[edge]);
  if (value.identity == 0 || !value.reaches_parameter) return;
  const std::byte* const slots = at(plan.nodes.edges(ref.tape)[edge].place);
  contributions.contribute({ref, input, slots}, contribution_of(ref));
}

}  // namespace dynet_like::detail

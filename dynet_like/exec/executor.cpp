// The life of values: asked for, released, reverted, forgotten.
#include "dynet_like/exec/executor.h"

#include <algorithm>
#include <cstring>

#include "dynet_like/ops/structured.h"

namespace dynet_like {

std::uint32_t Executor::add_tape(Tape& tape) {
  run_.tapes.push_back({&tape, {}});
  if (!spare_.empty()) {
    run_.tapes.back().nodes = std::move(spare_.back());
    spare_.pop_back();
  }
  return static_cast<std::uint32_t>(run_.tapes.size() - 1);
}

Tensor Executor::value(ValueRef ref) {
  forward_.compute(std::span(&ref, 1), false);
  const NodeId node = run_.tapes[ref.tape].tape->value(ref.value).node;
  return at(ref, run_.tapes[ref.tape].nodes[node].value, run_.lists);
}

// A tensor is contiguous: items of a view with gaps between them are copied together.
Tensor Executor::at(ValueRef ref, const std::byte* node, Arena& arena) const {
  const Tape& tape = *run_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  const Shape& shape = tape.shape_of(ref.value);
  const std::size_t element = size_of(shape.dtype);
  const std::byte* begin = node + value.offset * element;
  auto* place = const_cast<std::byte*>(begin);
  if (!tape.is_contiguous(ref.value)) {
    place = arena.allocate_array<std::byte>(value.items * shape.size * element);
    for (std::uint32_t item = 0; item < value.items; ++item) {
      std::memcpy(place + item * shape.size * element, begin + item * value.stride * element,
                  shape.size * element);
    }
  }
  return Tensor(tape.dim_of(ref.value), shape.dtype, place);
}

Tensor Executor::gradient(ValueRef ref, const Gradients& gradients) {
  const Tape& tape = *run_.tapes[ref.tape].tape;
  const Value& value = tape.value(ref.value);
  const NodeRef node{ref.tape, value.node};
  const std::byte* gradient = backward_.gradient_of(node);
  if (value.identity != 0 && value.identity < run_.shared.size()) {
    const SharedValue& shared = run_.shared[run_.identity_of(node)];
    if (shared.has_gradient) gradient = shared.gradient;
  }
  if (tape.type_of(value.node).op == &ops::parameter) {
    gradient = static_cast<const std::byte*>(gradients.find_dense(tape.storage_of(value.node)));
  }
  if (gradient != nullptr) return at(ref, gradient, run_.gradients);
  const Shape& shape = tape.shape_of(ref.value);
  const std::size_t bytes = shape.size * value.items * size_of(shape.dtype);
  auto* zeros = run_.gradients.allocate_array<std::byte>(bytes);
  std::memset(zeros, 0, bytes);
  return Tensor(tape.dim_of(ref.value), shape.dtype, zeros);
}

void Executor::release() {
  std::vector<Batch> batches;
  std::vector<NodeRef> members;
  std::vector<std::uint32_t> new_index(run_.batches.size(), kNone);
  for (TapeState& tape : run_.tapes) {
    for (NodeState& node : tape.nodes) {
      if (node.batch == kNone || !run_.batches[node.batch].shared) node = NodeState{};
    }
  }
  for (std::size_t b = 0; b < run_.batches.size(); ++b) {
    const Batch& batch = run_.batches[b];
    if (!batch.shared) continue;
    new_index[b] = static_cast<std::uint32_t>(batches.size());
    batches.push_back(batch);
    batches.back().first_member = static_cast<std::uint32_t>(members.size());
    for (NodeRef ref : run_.members_of(batch)) {
      members.push_back(ref);
      if (ref.node != kNone) run_.state(ref).batch = new_index[b];
    }
  }
  for (SharedValue& shared : run_.shared) {
    if (shared.batch != kNone) shared.batch = new_index[shared.batch];
  }
  run_.batches = std::move(batches);
  run_.members = std::move(members);
  run_.values.reset();
  run_.lists.reset();
  run_.gradients.reset();
  backward_.forget();
}

void Executor::invalidate() {
  release();
  for (TapeState& tape : run_.tapes) tape.nodes.clear();
  run_.batches.clear();
  run_.members.clear();
  run_.shared.clear();
  run_.shared_values.reset();
}

void Executor::revert(std::uint32_t tape, std::size_t nodes) {
  TapeState& state = run_.tapes[tape];
  for (NodeId node = static_cast<NodeId>(state.nodes.size()); node-- > nodes;) {
    if (state.nodes[node].batch == kNone) continue;
    Batch& batch = run_.batches[state.nodes[node].batch];
    for (std::uint32_t m = 0; m < batch.members; ++m) {
      NodeRef& member = run_.members[batch.first_member + m];
      if (member.tape != tape || member.node != node) continue;
      member = {run_.output(member).items, kNone};
    }
  }
  state.nodes.resize(std::min(state.nodes.size(), nodes));
  for (SharedValue& shared : run_.shared) {
    const NodeRef ref = shared.representative;
    if (shared.value != nullptr && ref.tape == tape && ref.node >= nodes) replace(shared);
  }
  backward_.forget();
}

// Another tape's node of the same value stands for it from now on, or it is computed anew.
void Executor::replace(SharedValue& shared) {
  for (std::uint32_t tape = 0; tape < run_.tapes.size(); ++tape) {
    for (NodeId node = 0; node < run_.tapes[tape].nodes.size(); ++node) {
      if (run_.tapes[tape].nodes[node].value != shared.value) continue;
      shared.representative = {tape, node};
      return;
    }
  }
  shared = SharedValue{};
}

void Executor::clear(RandomKey random) {
  invalidate();
  for (TapeState& tape : run_.tapes) spare_.push_back(std::move(tape.nodes));
  run_.tapes.clear();
  run_.kernels_of_type.clear();
  run_.counts.clear();
  run_.copied_bytes = 0;
  run_.plan_seconds = run_.kernel_seconds = 0;
  run_.random = random;
}

std::size_t Executor::bytes_needed(std::uint32_t tape_index, bool with_gradients) const {
  const Tape& tape = *run_.tapes[tape_index].tape;
  std::size_t bytes = 0;
  for (NodeId node = 0; node < tape.size(); ++node) {
    const NodeType& type = tape.type_of(node);
    if (type.op == &ops::parameter || type.op == &ops::lookup_parameter) continue;
    const std::size_t items = tape.value(tape.node(node).value).items;
    const std::size_t element = size_of(type.signature.dtype);
    bytes += items * (type.signature.output_size + type.signature.saved_size) * element;
    bytes += items * type.inputs * sizeof(void*);
    if (with_gradients) bytes += items * type.signature.output_size * element;
  }
  return bytes;
}

}  // namespace dynet_like

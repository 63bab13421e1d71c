// Choosing what a kernel is given of a batch of which only some items go backward.
#include "dynet_like/exec/backward_call.h"

#include "dynet_like/exec/checks.h"

namespace dynet_like::detail {

void** places_of(Arena& lists, std::span<const std::uint32_t> positions, std::byte* block,
                 std::size_t stride) {
  auto** places = lists.allocate_array<void*>(positions.size());
  for (std::size_t i = 0; i < positions.size(); ++i) places[i] = block + positions[i] * stride;
  return places;
}

// Those of a list's entries that belong to the items; the list itself if all of them do.
template <class T>
const T* BackwardItems::choose(const T* all, std::size_t each) const {
  if (all == nullptr || positions_.size() == batch_.items) return all;
  T* const chosen = lists_.allocate_array<T>(positions_.size() * each);
  T* next = chosen;
  for (std::uint32_t position : positions_) {
    for (std::size_t i = 0; i < each; ++i) *next++ = all[position * each + i];
  }
  return chosen;
}

const void* BackwardItems::choose_reals(std::size_t each, DType dtype) const {
  if (dtype == DType::f32) return choose(static_cast<const float*>(batch_.reals), each);
  return choose(static_cast<const double*>(batch_.reals), each);
}

Operand* BackwardItems::inputs(const NodeType& type) const {
  auto* in = lists_.allocate_array<Operand>(type.inputs);
  for (unsigned j = 0; j < type.inputs; ++j) {
    in[j] = {choose(batch_.inputs[j].items, 1), batch_.inputs[j].shared, nullptr};
  }
  return in;
}

BackwardCall BackwardItems::call(const NodeType& type, const Operand* in, void** dy,
                                 const Destination* dx) const {
  const Signature& signature = type.signature;
  BackwardCall call;
  call.type = &signature;
  call.n = positions_.size();
  call.in = in;
  if (type.op->needs_output()) call.out.items = places(batch_.out, batch_.stride);
  if (batch_.saved != nullptr) {
    call.saved.items = places(batch_.saved, signature.saved_size * size_of(signature.dtype));
  }
  call.dy.items = dy;
  call.dx = dx;
  call.integers = choose(batch_.integers, signature.integers);
  call.reals = choose_reals(type.op->numbers.reals, signature.dtype);
  return call;
}

void run_backward_call(RunState& run, Queue& queue, TypeId type, BackwardCall& call,
                       std::span<const NodeRef> members, std::size_t nodes) {
  call.random = run.random;
  const Kernels::Backward kernel = run.kernels(type).backward[static_cast<int>(call.type->dtype)];
  if (run.options.verify_batching && call.n > 1 && !members.empty()) {
    verify_backward(run, call, kernel, members);
  }
  TypeCount& counts = run.counts.of_types[type];
  const KernelTime time(run, counts.seconds, nodes);
  queue.backward(kernel, call);
  ++counts.backward_calls;
}

}  // namespace dynet_like::detail

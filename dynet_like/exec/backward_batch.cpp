// One batch backward: the members that take part, the lists that the kernel is given, one call.
#include "dynet_like/exec/backward.h"
#include "dynet_like/exec/backward_call.h"
#include "dynet_like/exec/checks.h"
#include "dynet_like/exec/packing.h"

#include <algorithm>

namespace dynet_like::detail {

void Backward::run_batch(std::uint32_t index) {
  const Batch& batch = run_.batches[index];
  if (batch.shared) return;
  const NodeType& type = run_.types()[batch.type];
  members_.clear();
  member_edges_.clear();
  positions_.clear();
  std::uint32_t position = 0;
  for (NodeRef ref : run_.members_of(batch)) {
    if (ref.node == kNone) {  // reverted; only its batch still knows of it
      position += ref.tape;
      continue;
    }
    const std::uint32_t items = batch.items == batch.members ? 1 : run_.items_of(ref);
    NodeGradient& node = tapes_[ref.tape].nodes[ref.node];
    if (node.active && node.cell == kNone) {
      members_.push_back(ref);
      EdgeGradient* edges =
          tapes_[ref.tape].edges.data() + run_.tape(ref).node(ref.node).first_edge;
      __builtin_prefetch(edges);  // they lie anywhere
      member_edges_.push_back(edges);
      for (std::uint32_t item = 0; item < items; ++item) positions_.push_back(position + item);
      if (node.has_slots) sum_slots(ref);
      if (run_.options.detect_anomaly) {
        check_gradient(run_, ref, node.gradient);
      }
    }
    position += items;
  }
  if (type.inputs == 0 || members_.empty()) return;
  run_members(index, type);
}

void Backward::run_members(std::uint32_t index, const NodeType& type) {
  const auto items = static_cast<std::uint32_t>(positions_.size());
  lists_.reset();
  const TypeInputs& of_type = inputs_of_type(members_[0]);
  auto* dx = lists_.allocate_array<Destination>(type.inputs);
  std::fill_n(dx, type.inputs, Destination());
  for (unsigned j = 0; j < type.inputs; ++j) {
    if (!of_type.is_collected(j)) dx[j] = destination(j, items);
  }
  call_kernel(index, type, dx);
}

// For the items at positions_, whose results go to dx.
void Backward::call_kernel(std::uint32_t index, const NodeType& type, const Destination* dx) {
  const Batch& batch = run_.batches[index];
  const Signature& signature = type.signature;
  const bool wanted =
      std::any_of(dx, dx + type.inputs, [](const Destination& to) { return to.wanted(); });
  if (!wanted && signature.deferred_size == 0) return;
  const BackwardItems items(lists_, batch, positions_);
  Operand* const in = type.op->needs_inputs() ? items.inputs(type) : nullptr;
  for (unsigned j = 0; in != nullptr && j < type.inputs; ++j) {
    if (in[j].shared != nullptr) in[j].packed = transpose(type, j, dx);
  }
  BackwardCall call = items.call(type, in, items.places(batch_gradients_[index], batch.stride), dx);
  if (signature.deferred_size > 0) {
    const std::size_t bytes = signature.deferred_size * size_of(signature.dtype);
    std::byte*& left = batch_deferred_[index];
    if (left == nullptr) left = gradients_.allocate_array<std::byte>(batch.items * bytes);
    call.deferred = items.places(left, bytes);
  }
  run_backward_call(run_, *run_.queue, batch.type, call, members_);
}

// Of a matrix that all items share, if the gradient of its right side is wanted.
const void* Backward::transpose(const NodeType& type, unsigned j, const Destination* dx) {
  if (j + 1 == type.inputs || !dx[j + 1].wanted()) return nullptr;
  return packed_transpose(run_, shared_matrix(run_, type, members_[0], j));
}

// Where the contributions through input j go; nowhere if no member wants them from the kernel.
Destination Backward::destination(unsigned j, std::uint32_t items) {
  const auto is_wanted = [&](const EdgeGradient* edges) { return edges[j].place != nullptr; };
  if (std::none_of(member_edges_.begin(), member_edges_.end(), is_wanted)) return {};
  const bool single = items == members_.size();
  auto** places = lists_.allocate_array<void*>(items);
  auto* add = lists_.allocate_array<std::uint8_t>(items);
  std::size_t i = 0;
  for (std::size_t m = 0; m < members_.size(); ++m) {
    const EdgeGradient& edge = member_edges_[m][j];
    const std::uint32_t count = single ? 1 : run_.items_of(members_[m]);
    const std::size_t stride = count > 1 ? stride_of(members_[m], j) : 0;
    for (std::uint32_t item = 0; item < count; ++item, ++i) {
      places[i] = edge.place == nullptr ? nullptr : edge.place + item * stride;
      add[i] = edge.contribution == Contribution::added;
    }
  }
  return {places, add};
}

// Bytes from the contribution of an item through input j to that of the next; 0 if there is one
// for all items.
std::size_t Backward::stride_of(NodeRef consumer, unsigned j) const {
  const Tape& tape = run_.tape(consumer);
  const std::uint32_t edge = tape.node(consumer.node).first_edge + j;
  const Value& value = tape.value(tape.edges()[edge]);
  if (value.identity == 0 && is_open(consumer, edge)) return 0;
  const Shape& shape = tape.types().shape(value.shape);
  const bool in_place =
      value.identity == 0 && tapes_[consumer.tape].edges[edge].contribution <= Contribution::added;
  return (in_place ? value.stride : shape.size) * size_of(shape.dtype);
}

}  // namespace dynet_like::detail

// The memory of values that one kernel call has computed, in inference.
#include "dynet_like/exec/value_block.h"

#include <algorithm>
#include <new>

namespace dynet_like::detail {

namespace {

constexpr std::size_t kBytesWorthMoving = 4096;  // less is not worth a call

}  // namespace

ValueBlock::ValueBlock(RunState& run, std::uint32_t batch) : run_(run) {
  const std::size_t first = batch - run.batches[batch].behind_first;
  std::size_t end = first + 1;
  while (end < run.batches.size() && run.batches[end].behind_first > 0) ++end;
  batches_ = std::span(run.batches).subspan(first, end - first);
}

std::uint32_t ValueBlock::members_left() const {
  std::uint32_t left = 0;
  for (const Batch& batch : batches_) left += batch.left;
  return left;
}

void ValueBlock::give_back() {
  run_.values.give_back(batches_[0].out, batches_[0].block_bytes);
  for (Batch& batch : batches_) batch.out = nullptr;
}

// Of values that are left: the state of the node, and the item.
template <class Visit>
void ValueBlock::for_each_value(const Visit& visit) const {
  const std::byte* const block = batches_[0].out;
  for (const Batch& batch : batches_) {
    const auto index = static_cast<std::uint32_t>(&batch - run_.batches.data());
    for (const NodeRef ref : run_.members_of(batch)) {
      if (ref.node == kNone || ref.node >= run_.tapes[ref.tape].nodes.size()) continue;
      NodeState& state = run_.state(ref);
      if (state.batch != index || state.value == nullptr) continue;
      visit(state, static_cast<std::size_t>(state.value - block) / batches_[0].stride);
    }
  }
}

void ValueBlock::move_together_if_few() {
  Batch& first = batches_[0];
  const std::uint32_t left = members_left();
  std::uint32_t members = 0;
  for (const Batch& batch : batches_) {
    if (batch.items != batch.members) return;
    members += batch.members;
  }
  if (left > std::min(first.few, members / 2) || first.is_handed_out) return;
  first.few = left / 2;
  if (first.block_bytes < kBytesWorthMoving) return;
  try {
    std::vector<std::uint32_t> place_of(items(), kNone);
    std::size_t kept = 0;
    for_each_value([&](const NodeState&, std::size_t item) {
      if (place_of[item] != kNone) return;
      place_of[item] = static_cast<std::uint32_t>(item);
      ++kept;
    });
    move_together(place_of, kept);
  } catch (const std::bad_alloc&) {
    // The block stays as it is.
  }
}

// To a smaller block, or else into the gaps before them: nothing goes where something else comes
// from, so that a device may copy all at once.
void ValueBlock::move_together(std::vector<std::uint32_t>& place_of, std::size_t kept) {
  Batch& first = batches_[0];
  std::byte* const old = first.out;
  const std::size_t stride = first.stride, bytes = kept * stride;
  std::byte* const smaller = run_.values.allocate_free(bytes);
  std::byte* const to = smaller != nullptr ? smaller : old;
  const DType dtype = run_.types()[first.type].signature.dtype;
  std::uint32_t gap = 0;
  for (std::size_t item = to == old ? kept : 0; item < place_of.size(); ++item) {
    if (place_of[item] == kNone) continue;
    while (to == old && place_of[gap] != kNone) ++gap;
    const void* const from = old + item * stride;
    run_.queue->add_all(dtype, to + gap * stride, stride / size_of(dtype), {&from, nullptr, 1},
                        SumStart::first);
    place_of[item] = gap++;
  }
  run_.queue->finish_sums();
  for_each_value([&](NodeState& state, std::size_t item) {
    state.value =
        to + place_of[item] * stride + static_cast<std::size_t>(state.value - old) % stride;
  });
  run_.values.keep(old, to == old ? bytes : 0, first.block_bytes);
  for (Batch& batch : batches_) batch.out = to + (batch.out - old);
  first.block_bytes = bytes;
}

}  // namespace dynet_like::detail

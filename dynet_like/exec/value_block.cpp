// The memory of a batch's values, in inference.
#include "dynet_like/exec/value_block.h"

#include <algorithm>
#include <new>

namespace dynet_like::detail {

namespace {

constexpr std::size_t kBytesWorthMoving = 4096;  // a smaller block is not worth a kernel call

}  // namespace

void ValueBlock::give_back() {
  run_.values.give_back(batch().out, batch().out_bytes);
  batch().out = nullptr;
}

// Calls visit(state of the node, item) for all values that are left.
template <class Visit>
void ValueBlock::for_each_value(const Visit& visit) const {
  const std::byte* const block = batch().out;
  for (const NodeRef ref : run_.nodes_of(batch())) {
    if (ref.node == kNone || ref.node >= run_.tapes()[ref.tape].nodes.size()) continue;
    NodeState& state = run_.state(ref);
    if (state.batch != index_ || state.value == nullptr) continue;
    visit(state, static_cast<std::size_t>(state.value - block) / batch().stride());
  }
}

void ValueBlock::move_together_if_few() {
  Batch& all = batch();
  if (all.items != all.nodes || all.is_handed_out) return;
  if (all.left > std::min(all.few, all.nodes / 2)) return;
  all.few = all.left / 2;
  if (all.out_bytes < kBytesWorthMoving) return;
  try {
    std::vector<std::uint32_t> place_of(all.out_bytes / all.stride(), kNone);
    std::size_t kept = 0;
    for_each_value([&](const NodeState&, std::size_t item) {
      place_of[item] = static_cast<std::uint32_t>(item);
      ++kept;
    });
    move_together(place_of, kept);
  } catch (const std::bad_alloc&) {
    // The block stays as it is.
  }
}

// Moves values to a smaller block, or else into the gaps before them. No destination is the source
// of another move, so that a device may copy all at once.
void ValueBlock::move_together(std::vector<std::uint32_t>& place_of, std::size_t kept) {
  Batch& all = batch();
  std::byte* const old = all.out;
  const std::size_t stride = all.stride(), bytes = kept * stride;
  std::byte* const smaller = run_.values.allocate_free(bytes);
  std::byte* const to = smaller != nullptr ? smaller : old;
  const DType dtype = all.signature().dtype;
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
  for_each_value(
      [&](NodeState& state, std::size_t item) { state.value = to + place_of[item] * stride; });
  run_.values.keep(old, to == old ? bytes : 0, all.out_bytes);
  all.out = to;
  all.out_bytes = bytes;
}

}  // namespace dynet_like::detail

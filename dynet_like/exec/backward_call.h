// A kernel's call backward: for some items of a batch, the lists of where their numbers lie.
#pragma once

#include <span>

#include "dynet_like/exec/run_state.h"

namespace dynet_like::detail {

/// Where items lie in a block that has `stride` bytes for each position.
void** places_of(Arena& lists, std::span<const std::uint32_t> positions, std::byte* block,
                 std::size_t stride);

/// Those items of a batch that take part in a backward pass. Their lists live in `lists`.
class BackwardItems {
 public:
  BackwardItems(Arena& lists, const Batch& batch, std::span<const std::uint32_t> positions)
      : lists_(lists), batch_(batch), positions_(positions) {}

  void** places(std::byte* block, std::size_t stride) const {
    return places_of(lists_, positions_, block, stride);
  }
  /// What the items read; not packed.
  Operand* inputs(const NodeType& type) const;
  /// With what the op wants to know of its pass forward. `in` is null where it reads no inputs.
  BackwardCall call(const NodeType& type, const Operand* in, void** dy,
                    const Destination* dx) const;

 private:
  template <class T>
  const T* choose(const T* all, std::size_t each) const;
  const void* choose_reals(std::size_t each, DType dtype) const;

  Arena& lists_;
  const Batch& batch_;
  std::span<const std::uint32_t> positions_;
};

/// Has the queue run the kernel of these nodes, and counts the call. With verify_batching the items
/// of `members`, if given, are compared with calls of their own first. `nodes`: how many there are,
/// if not as many as items.
void run_backward_call(RunState& run, Queue& queue, TypeId type, BackwardCall& call,
                       std::span<const NodeRef> members = {}, std::size_t nodes = 0);

}  // namespace dynet_like::detail

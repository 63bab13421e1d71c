// Contributions that wait in slots until they can be added in the order of their sum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "dynet_like/core/memory.h"
#include "dynet_like/device/queue.h"

namespace dynet_like::detail {

/// The numbers of a slot, and the sum to which they will be added.
struct WaitingAddend {
  std::byte* sum = nullptr;
  const std::byte* addend = nullptr;
  std::uint32_t elements = 0;
  bool is_first = false;             ///< the sum begins with these numbers
  const std::byte* whole = nullptr;  ///< the state or column, of which the sum may be a part
  // Where the addend comes in its sum: addends of later vertices come first, and of one vertex
  // those of operations that were recorded later.
  std::uint64_t vertex = 0;  ///< its sample and its place in the order of vertices
  std::uint64_t turn = 0;    ///< of the operation
};

/// Adds these, which must be in the order of addition. The lists for the queue are allocated from
/// `lists`.
void add_waiting(Queue& queue, DType dtype, std::span<const WaitingAddend> waiting, Arena& lists);

/// Brings contributions of vertices into the order of addition, in which those to one sum are
/// adjacent, unless parts overlap.
void sort_for_addition(std::vector<WaitingAddend>& waiting, std::size_t element);

}  // namespace dynet_like::detail

// The places of the items of a call, given by pointers or by a stride.
#pragma once

#include <limits>
#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/device/cuda/threads.h"

namespace dynet_like::detail::cuda {

constexpr std::size_t ceil_divide(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

/// Converts a number of blocks, items or columns of a launch; throws DeviceError if it is too
/// large.
inline unsigned launch_size(std::size_t count) {
  if (count > static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max())) {
    throw DeviceError("[cuda] need at most 2147483647 blocks, items or columns in a launch; got " +
                      std::to_string(count));
  }
  return static_cast<unsigned>(count);
}

/// The places of items: one pointer each, or a constant distance between them; at distance 0 all
/// items are the same. Offsets and distances are counted in elements.
template <class T>
struct Places {
  const void* const* items = nullptr;
  const T* first = nullptr;
  std::size_t distance = 0, offset = 0;

  Places() = default;
  explicit Places(const Operand& operand)
      : items(operand.items), first(static_cast<const T*>(operand.shared)) {}
  explicit Places(const void* const* list, std::size_t elements = 0)
      : items(list), offset(elements) {}
  Places(const T* block, std::size_t elements) : first(block), distance(elements) {}

  bool is_shared() const { return items == nullptr && distance == 0; }
  __device__ const T* at(std::size_t i) const {
    return (items != nullptr ? static_cast<const T*>(items[i]) : first + i * distance) + offset;
  }
};

}  // namespace dynet_like::detail::cuda

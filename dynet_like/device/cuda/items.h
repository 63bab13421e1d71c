// The places of the items of a call, given by pointers or by a stride; and launches over items.
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

/// Launches a kernel whose thread i does piece i of `count`. Launches nothing if `count` is 0.
template <class... Parameters, class... Arguments>
void launch_each(Commands& commands, std::size_t count, void (*kernel)(Parameters...),
                 const Arguments&... arguments) {
  if (count == 0) return;
  commands.launch(early({launch_size(ceil_divide(count, kThreads)), 1, 1, kThreads}), kernel,
                  arguments...);
}
/// The number of this thread in a one-dimensional launch. Every kernel begins with this, or with
/// another function that tells a thread its part of the work: they wait for earlier kernels.
__device__ inline std::size_t thread_index() {
  wait_for_earlier();
  return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
}

/// The work of a thread: one element of one item of the output, or of the input's gradient.
struct ItemElement {
  std::size_t item;
  unsigned element;
};
__device__ inline ItemElement item_element(unsigned size) {
  const std::size_t at = thread_index();
  return {at / size, static_cast<unsigned>(at % size)};
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

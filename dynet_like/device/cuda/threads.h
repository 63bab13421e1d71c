// How threads are assigned to the elements of the items of a call, and where results go.
#pragma once

#include <algorithm>

#include "dynet_like/device/cuda/commands.h"

namespace dynet_like::detail::cuda {

constexpr unsigned kThreads = 128;  // of a block

/// The work of one launch: `count` elements or lines, `size` of each item, from `first_item` on.
struct Part {
  std::size_t first_item = 0;
  std::uint32_t size = 0, count = 0;
};

/// An element or a line of an item.
struct Place {
  std::size_t item = 0;
  std::uint32_t at = 0;
};

__device__ inline Place place_in(const Part& part, std::uint32_t index) {
  return {part.first_item + index / part.size, index % part.size};
}

/// Calls launch(part) for all n items, in parts that fit in one launch, where each of the `size`
/// elements or lines per item needs `team` threads. An item's bits do not depend on its part.
template <class Launch>
void for_parts(std::size_t n, std::size_t size, unsigned team, const Launch& launch) {
  constexpr std::size_t kMost = std::size_t{1} << 31;
  const std::size_t items_at_once = std::max<std::size_t>(1, kMost / (size * team));
  for (std::size_t first = 0; size > 0 && first < n; first += items_at_once) {
    const std::size_t items = std::min(items_at_once, n - first);
    launch(Part{first, static_cast<std::uint32_t>(size), static_cast<std::uint32_t>(items * size)});
  }
}

inline Shape blocks_for(std::size_t threads, unsigned block) {
  return early({static_cast<unsigned>((threads + block - 1) / block), 1, 1, block});
}

/// Launches one thread for each of the `size` elements of n items.
template <class... Parameters, class... Arguments>
void launch_elements(Commands& commands, std::size_t n, std::size_t size,
                     void (*kernel)(Part, Parameters...), const Arguments&... arguments) {
  for_parts(n, size, 1, [&](const Part& part) {
    commands.launch(blocks_for(part.count, kThreads), kernel, part, arguments...);
  });
}

/// Finds the element of a thread in such a launch; false if it has none.
__device__ inline bool find_element(const Part& part, Place& place) {
  wait_for_earlier();
  const std::uint32_t index = blockIdx.x * blockDim.x + threadIdx.x;
  place = place_in(part, index);
  return index < part.count;
}

/// The destination of an item's output.
template <class T>
__device__ inline T* output_at(const Output& out, std::size_t item) {
  return global(out.at<T>(item));
}

/// Writes a result, or adds it to the destination.
template <class T>
__device__ inline void put(T result, T* to, bool add) {
  *to = add ? *to + result : result;
}

/// The destination of an item's result, or null, and whether to add.
template <class T>
struct Target {
  T* to = nullptr;
  bool add = false;

  __device__ Target(const Destination& destination, std::size_t item) {
    if (!destination.wanted()) return;
    to = destination.template at<T>(item);
    add = destination.add[item] != 0;
  }
  __device__ void put(T result, std::size_t at) const { cuda::put(result, to + at, add); }
};

/// Consecutive items.
struct Run {
  std::size_t begin, end;
};
/// The run of items around one of n for which is_alike(other) is true.
template <class IsAlike>
__device__ Run run_of(std::size_t item, std::size_t n, const IsAlike& is_alike) {
  Run run{item, item + 1};
  while (run.begin > 0 && is_alike(run.begin - 1)) --run.begin;
  while (run.end < n && is_alike(run.end)) ++run.end;
  return run;
}

}  // namespace dynet_like::detail::cuda

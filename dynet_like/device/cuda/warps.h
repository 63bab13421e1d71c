// One warp per item: lanes share its elements and combine their results.
#pragma once

#include "dynet_like/device/cuda/items.h"

namespace dynet_like::detail::cuda {

/// Launches a kernel with one warp for each of n items.
template <class... Parameters, class... Arguments>
void launch_warps(Commands& commands, std::size_t n, void (*kernel)(Parameters...),
                  const Arguments&... arguments) {
  if (n == 0) return;
  constexpr unsigned kThreadsOfWarps = 4 * kWarp;
  commands.launch_cooperating(early({launch_size(ceil_divide(n, 4)), 1, 1, kThreadsOfWarps}),
                              kernel, arguments...);
}
/// The item of this warp, and the first element of this lane; its next one is kWarp further.
__device__ inline std::size_t item_of_warp() { return thread_index() / kWarp; }
__device__ inline unsigned lane_of_warp() { return threadIdx.x % kWarp; }

/// Combines the values of all lanes in a fixed order, for every lane. `combine` must be
/// commutative.
template <class T, class Combine>
__device__ T reduce_warp(T value, const Combine& combine) {
  for (unsigned bits = kWarp / 2; bits > 0; bits /= 2) {
    value = combine(value, __shfl_xor_sync(kWholeWarp, value, bits));
  }
  return value;
}
template <class T>
__device__ T sum_of_warp(T value) {
  return reduce_warp(value, [](T a, T b) { return a + b; });
}

}  // namespace dynet_like::detail::cuda

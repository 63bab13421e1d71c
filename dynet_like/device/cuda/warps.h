// One warp per item: lanes share its elements and combine their results.
#pragma once

#include "dynet_like/device/cuda/items.h"
#include "dynet_like/device/cuda/teams.h"

namespace dynet_like::detail::cuda {

/// Launches kernel(n, arguments...) with one warp for each of n items.
template <class... Parameters, class... Arguments>
void launch_warps(Commands& commands, std::size_t n, void (*kernel)(std::size_t, Parameters...),
                  const Arguments&... arguments) {
  if (n == 0) return;
  constexpr unsigned kThreadsOfWarps = 4 * kWarp;
  commands.launch_cooperating(early({launch_size(ceil_divide(n, 4)), 1, 1, kThreadsOfWarps}),
                              kernel, n, arguments...);
}
/// The item of this warp, and the first element of this lane; its next one is kWarp further.
__device__ inline std::size_t item_of_warp() {
  wait_for_earlier();
  return (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp;
}
__device__ inline unsigned lane_of_warp() { return threadIdx.x % kWarp; }

/// Calls f(e) for the elements e < n of this lane.
template <class F>
__device__ void for_lane(unsigned n, const F& f) {
  Team<kWarp>().each(n, f);
}
/// Combines the values of all lanes in a fixed order, for every lane. `combine` must be
/// commutative.
template <class T, class Combine>
__device__ T reduce_warp(T value, const Combine& combine) {
  return Team<kWarp>().combine(value, combine);
}
template <class T>
__device__ T sum_of_warp(T value) {
  return reduce_warp(value, Plus());
}

}  // namespace dynet_like::detail::cuda

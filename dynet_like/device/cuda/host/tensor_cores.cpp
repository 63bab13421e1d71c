// The products of tensor cores, computed by the threads of a warp.
#include <cmath>
#include <cstring>

#include "dynet_like/device/cuda/host/words.h"

namespace dynet_like::detail::cuda::host {

// All lanes first store their words where the other lanes can read them. Waiting for that orders no
// memory of the kernel: neither do tensor cores.
void multiply_add(Place place, float* sum, const std::uint32_t* a, const std::uint32_t* b) {
  constexpr unsigned kLanes = 32, kWords = 6, kMostThreads = 256, kAll = 0xffffffffu;
  static const char id = 0;
  auto* const numbers =
      static_cast<float*>(shared_memory(place, &id, kMostThreads * kWords * sizeof(float)));
  const unsigned lane = position.thread.x % kLanes, g = lane / 4, t = lane % 4;
  float* const of_warp = numbers + (position.thread.x - lane) * kWords;
  std::memcpy(of_warp + lane * kWords, a, 4 * sizeof(*a));
  std::memcpy(of_warp + lane * kWords + 4, b, 2 * sizeof(*b));
  exchange(place, kAll, 0, kLanes);
  for (unsigned k = 0; k < 8; ++k) {
    for (unsigned s = 0; s < 4; ++s) {
      const float left = of_warp[(4 * g + k % 4) * kWords + k / 4 * 2 + s / 2];
      const float right = of_warp[(4 * (2 * t + s % 2) + k % 4) * kWords + 4 + k / 4];
      sum[s] = std::fma(left, right, sum[s]);
    }
  }
  exchange(place, kAll, 0, kLanes);
}

}  // namespace dynet_like::detail::cuda::host

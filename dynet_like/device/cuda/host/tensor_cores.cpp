// The products of tensor cores, computed by the threads of a warp.
#include <cmath>
#include <cstring>

#include "dynet_like/device/cuda/host/words.h"

namespace dynet_like::detail::cuda::host {

namespace {

// Number `i` of a word, which contains one or two numbers.
float number_in(std::uint32_t word, unsigned per_word, unsigned i) {
  if (per_word == 2) word = i == 0 ? word << 16 : word & 0xffff0000u;
  float number;
  std::memcpy(&number, &word, sizeof(number));
  return number;
}

}  // namespace

// All lanes first store their words where the other lanes can read them. Waiting for that orders no
// memory of the kernel: neither do tensor cores.
void multiply_add(Place place, float* sum, const std::uint32_t* a, const std::uint32_t* b,
                  unsigned per_word) {
  constexpr unsigned kLanes = 32, kWords = 6, kMostThreads = 256, kAll = 0xffffffffu;
  static const char id = 0;
  auto* const words = static_cast<std::uint32_t*>(
      shared_memory(place, &id, kMostThreads * kWords * sizeof(std::uint32_t)));
  const unsigned lane = position.thread.x % kLanes, g = lane / 4, t = lane % 4;
  std::uint32_t* const of_warp = words + (position.thread.x - lane) * kWords;
  std::memcpy(of_warp + lane * kWords, a, 4 * sizeof(*a));
  std::memcpy(of_warp + lane * kWords + 4, b, 2 * sizeof(*b));
  exchange(place, kAll, 0, kLanes);
  for (unsigned w = 0; w < 8; ++w) {
    for (unsigned s = 0; s < 4; ++s) {
      const std::uint32_t left = of_warp[(4 * g + w % 4) * kWords + w / 4 * 2 + s / 2];
      const std::uint32_t right = of_warp[(4 * (2 * t + s % 2) + w % 4) * kWords + 4 + w / 4];
      for (unsigned i = 0; i < per_word; ++i) {
        sum[s] = std::fma(number_in(left, per_word, i), number_in(right, per_word, i), sum[s]);
      }
    }
  }
  exchange(place, kAll, 0, kLanes);
}

}  // namespace dynet_like::detail::cuda::host

// The products of tensor cores, computed by the threads of a warp.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "dynet_like/device/cuda/host/words.h"

namespace dynet_like::detail::cuda::host {

namespace {

/// The sum as tensor cores compute it: addends lose what lies below the 24 bits of the largest, and
/// so does their sum; nothing is rounded (Fasi, Higham, Mikaitis and Pranesh 2021).
float cut_sum(std::span<const double> addends) {
  double largest = 0, sum = 0;
  for (const double addend : addends) {
    sum += addend;
    largest = std::max(largest, std::abs(addend));
  }
  if (largest == 0 || !std::isfinite(sum)) return static_cast<float>(sum);
  const auto cut = [](double x, double reference) {
    const double unit = std::ldexp(1.0, std::ilogb(reference) - 23);
    return std::trunc(x / unit) * unit;
  };
  sum = 0;
  for (const double addend : addends) sum += cut(addend, largest);
  return sum == 0 ? 0.0f : static_cast<float>(cut(sum, sum));
}

}  // namespace

// All lanes first store their words where the other lanes can read them. Waiting for that orders no
// memory of the kernel: neither do tensor cores.
void multiply_eight(Place place, float* sum, const std::uint32_t* a, const std::uint32_t* b) {
  constexpr unsigned kLanes = 32, kWords = 6, kMostThreads = 256, kAll = 0xffffffffu;
  static const char id = 0;
  auto* const numbers =
      static_cast<float*>(shared_memory(place, &id, kMostThreads * kWords * sizeof(float)));
  const unsigned lane = position.thread.x % kLanes, g = lane / 4, t = lane % 4;
  float* const of_warp = numbers + (position.thread.x - lane) * kWords;
  std::memcpy(of_warp + lane * kWords, a, 4 * sizeof(*a));
  std::memcpy(of_warp + lane * kWords + 4, b, 2 * sizeof(*b));
  exchange(place, kAll, 0, kLanes);
  for (unsigned s = 0; s < 4; ++s) {
    double products[8];
    for (unsigned k = 0; k < 8; ++k) {
      const double left = of_warp[(4 * g + k % 4) * kWords + k / 4 * 2 + s / 2];
      const double right = of_warp[(4 * (2 * t + s % 2) + k % 4) * kWords + 4 + k / 4];
      products[k] = left * right;
    }
    sum[s] = cut_sum(products);
  }
  exchange(place, kAll, 0, kLanes);
}

}  // namespace dynet_like::detail::cuda::host

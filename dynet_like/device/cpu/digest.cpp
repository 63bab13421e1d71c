// Lanes of 32 bits that are multiplied and rotated, as in xxHash (Collet, 2012).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/digest.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "dynet_like/device/cpu/digest.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Odd factors, so that no step loses information.
constexpr std::uint32_t kOfWord = 0x85EBCA77, kOfSum = 0x9E3779B1;
constexpr std::uint64_t kOfEnd = 0x9E3779B185EBCA87;

template <class D>
hn::Vec<D> mix(D d, hn::Vec<D> sum, const std::uint8_t* from) {
  const hn::Vec<D> words = hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(from));
  sum = hn::Add(sum, hn::Mul(words, hn::Set(d, kOfWord)));
  return hn::Mul(hn::RotateRight<19>(sum), hn::Set(d, kOfSum));
}

inline std::uint64_t mix_end(std::uint64_t sum, std::uint64_t word) {
  sum = (sum ^ word) * kOfEnd;
  return sum ^ sum >> 29;
}

std::uint64_t digest(const void* memory, std::size_t bytes) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d), step = 4 * lanes * sizeof(std::uint32_t);
  const auto* from = static_cast<const std::uint8_t*>(memory);
  auto a = hn::Zero(d), b = a, e = a, f = a;  // four chains, to hide the latency of multiplications
  std::size_t done = 0;
  for (; done + step <= bytes; done += step) {
    a = mix(d, a, from + done);
    b = mix(d, b, from + done + step / 4);
    e = mix(d, e, from + done + step / 2);
    f = mix(d, f, from + done + step / 4 * 3);
  }
  std::array<std::uint32_t, 4 * HWY_MAX_BYTES / sizeof(std::uint32_t)> sums{};
  hn::StoreU(a, d, sums.data());
  hn::StoreU(b, d, sums.data() + lanes);
  hn::StoreU(e, d, sums.data() + 2 * lanes);
  hn::StoreU(f, d, sums.data() + 3 * lanes);
  std::uint64_t sum = bytes;
  for (const std::uint32_t lane : sums) sum = mix_end(sum, lane);
  for (; done < bytes; done += sizeof(std::uint32_t)) {
    std::uint32_t word = 0;
    std::memcpy(&word, from + done, std::min(sizeof word, bytes - done));
    sum = mix_end(sum, word);
  }
  return sum;
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {

HWY_EXPORT(digest);

std::uint64_t digest(const void* memory, std::size_t bytes) {
  return HWY_DYNAMIC_DISPATCH(digest)(memory, bytes);
}

}  // namespace dynet_like::detail
#endif

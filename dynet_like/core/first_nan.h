// Finds a NaN by bits, at the speed of memory; internal to checks of parameters and files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <span>

#include "dynet_like/core/dtype.h"

namespace dynet_like::detail {

/// The index of the first NaN among binary numbers of one size, which need not be aligned. A number
/// is a NaN if its bits without the sign are above those of infinity.
template <class Bits>
std::optional<std::size_t> first_nan(std::span<const std::byte> bytes, Bits infinity) {
  const std::size_t count = bytes.size() / sizeof(Bits);
  const auto without_sign = [&](std::size_t i) {
    Bits bits = 0;
    std::memcpy(&bits, bytes.data() + i * sizeof(bits), sizeof(bits));
    return static_cast<Bits>(bits & (std::numeric_limits<Bits>::max() / 2));
  };
  // A loop that computes a maximum is compiled to vectors.
  constexpr std::size_t kAtOnce = 1024;
  for (std::size_t begin = 0; begin < count; begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, count);
    Bits largest = 0;
    for (std::size_t i = begin; i < end; ++i) largest = std::max(largest, without_sign(i));
    for (std::size_t i = begin; largest > infinity && i < end; ++i) {
      if (without_sign(i) > infinity) return i;
    }
  }
  return {};
}

inline std::optional<std::size_t> first_nan(std::span<const std::byte> bytes, DType dtype) {
  return dtype == DType::f32 ? first_nan<std::uint32_t>(bytes, 0x7f800000)
                             : first_nan<std::uint64_t>(bytes, 0x7ff0000000000000);
}

}  // namespace dynet_like::detail

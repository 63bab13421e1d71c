// The tail of the normal distribution, for plain numbers.
#pragma once

#include <cmath>
#include <numbers>

#include "dynet_like/core/host_device.h"

namespace dynet_like::ops::formulas {

/// The probability that a normal number is above x >= 0: erfc(x / sqrt 2) / 2. The rounding error
/// of x / sqrt 2 is corrected with the slope of erfc: for large x it would cost many digits.
template <class T>
DYNET_LIKE_HOST_DEVICE T normal_tail(T x) {
  constexpr double kRoot = std::numbers::sqrt2 / 2, kRestOfRoot = -0x1.bdd3413b26456p-55;
  constexpr T kFactor = T(kRoot), kRest = T(kRoot - double(kFactor) + kRestOfRoot);
  if (x > T(40)) return T(0);  // the result is 0 in any type
  const T z = x * kFactor, rest = std::fma(x, kFactor, -z) + x * kRest;
  return std::erfc(z) / 2 - T(std::numbers::inv_sqrtpi) * std::exp(-z * z) * rest;
}

}  // namespace dynet_like::ops::formulas

namespace dynet_like::detail {
namespace formulas = ops::formulas;
}

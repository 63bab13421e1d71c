// Random numbers of a distribution, made from random words. They have the same bits on every
// device, because no library function is used that differs between devices.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "dynet_like/ops/horner.h"

namespace dynet_like::ops::draws {

using Words = std::array<std::uint32_t, 4>;

/// half_open is in [0, 1), like unit_interval of core/random.h; open is in (0, 1), so that
/// logarithms are finite.
DYNET_LIKE_HOST_DEVICE double half_open(std::uint32_t word) { return (word >> 8) * 0x1p-24; }
DYNET_LIKE_HOST_DEVICE double open(std::uint32_t word) { return ((word >> 8) + 0.5) * 0x1p-24; }

/// ln x of a normal (not subnormal) positive number, with an error of 0.8 ulp. x = 2^n m with m in
/// [sqrt(1/2), sqrt(2)); ln m is a series in s = f / (2 + f) with f = m - 1.
DYNET_LIKE_HOST_DEVICE double natural_log(double x) {
  constexpr std::uint64_t kOne = 0x3FF0000000000000, kMiddle = 0x3FE6A09E667F3BCD;
  constexpr std::uint64_t kMantissa = 0x000FFFFFFFFFFFFF;
  constexpr double kUpper = 0x1.62e42feep-1, kLower = 0x1.a39ef35793c76p-33;  // of ln 2
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) + (kOne - kMiddle);
  const double n = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
  const double f = std::bit_cast<double>((bits & kMantissa) + kMiddle) - 1;
  const double half = 0.5 * f * f, s = f / (2 + f), z = s * s;
  const double series = z * formulas::polynomial(z, 2.0 / 3, 2.0 / 5, 2.0 / 7, 2.0 / 9, 2.0 / 11,
                                                 2.0 / 13, 2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21);
  return n * kUpper + (f - (half - (n * kLower + s * (half + series))));
}

struct Point {
  double x, y;
};

/// (cos, sin) of the angle 2 pi k / 2^24 for k < 2^24, with an error of 1.8 ulp. The nearest
/// quarter turn is subtracted exactly.
DYNET_LIKE_HOST_DEVICE Point on_circle(std::uint32_t k) {
  const std::uint32_t quarter = (k + (1u << 21)) >> 22;
  const int rest = static_cast<int>(k) - static_cast<int>(quarter << 22);
  const double angle = rest * (2 * std::numbers::pi * 0x1p-24), z = angle * angle;
  const double sine =
      angle + angle * z *
                  formulas::polynomial(z, -1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                       -1.0 / 39916800, 1.0 / 6227020800, -1.0 / 1307674368000,
                                       1.0 / 355687428096000);
  const double cosine =
      1 - z * formulas::polynomial(z, 1.0 / 2, -1.0 / 24, 1.0 / 720, -1.0 / 40320, 1.0 / 3628800,
                                   -1.0 / 479001600, 1.0 / 87178291200, -1.0 / 20922789888000,
                                   1.0 / 6402373705728000);
  const bool is_odd = quarter % 2 != 0;
  const double x = is_odd ? sine : cosine, y = is_odd ? cosine : sine;
  return {quarter == 1 || quarter == 2 ? -x : x, quarter == 2 || quarter == 3 ? -y : y};
}

// Each draw uses word w of a block of four words.

/// Uniform in [a, b).
struct Uniform {
  DYNET_LIKE_HOST_DEVICE static double draw(const Words& words, unsigned w, double a, double b) {
    return a + (b - a) * half_open(words[w]);
  }
};

/// Two words make two normal numbers: the first word gives the radius, the second the angle.
struct Normal {
  DYNET_LIKE_HOST_DEVICE static double draw(const Words& words, unsigned w, double a, double b) {
    const double radius = std::sqrt(-2 * natural_log(open(words[w / 2 * 2])));
    const Point point = on_circle(words[w / 2 * 2 + 1] >> 8);
    return a + b * radius * (w % 2 == 0 ? point.x : point.y);
  }
};

struct Bernoulli {
  DYNET_LIKE_HOST_DEVICE static double draw(const Words& words, unsigned w, double a, double b) {
    return half_open(words[w]) < a ? b : 0;
  }
};

struct Gumbel {
  DYNET_LIKE_HOST_DEVICE static double draw(const Words& words, unsigned w, double a, double b) {
    return a - b * natural_log(-natural_log(open(words[w])));
  }
};

}  // namespace dynet_like::ops::draws

namespace dynet_like::detail {
namespace draws = ops::draws;
}

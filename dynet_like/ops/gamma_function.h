// ln |gamma(x)| and its derivative, the digamma function, for the CPU and for GPUs. std::lgamma is
// not used because it writes to a global variable. Formulas: Abramowitz and Stegun 1964, chapter 6.
#pragma once

#include <cmath>
#include <limits>
#include <numbers>

#include "dynet_like/ops/horner.h"

namespace dynet_like::ops::formulas::special {

namespace parts {

// From here on a few terms of the asymptotic series suffice (6.1.41, 6.3.18).
inline constexpr double kLarge = 10;

// ln gamma(2 + z) for |z| <= 3/4. Terms: (-1)^k (zeta(k) - 1) / k z^k, the first 1 - Euler's
// constant (6.1.33).
DYNET_LIKE_HOST_DEVICE double log_gamma_from_2(double z) {
  return z * polynomial(
                 z, 0.42278433509846713939, 0.32246703342411321824, -0.067352301053198095133,
                 0.020580808427784547879, -0.0073855510286739852663, 0.0028905103307415232858,
                 -0.0011927539117032609771, 0.00050966952474304242234, -0.00022315475845357937976,
                 0.000099457512781808533715, -0.0000449262367381331417, 0.000020507212775670691553,
                 -9.439488275268395904e-6, 4.3748667899074878042e-6, -2.0392157538013662368e-6,
                 9.5514121304074198329e-7, -4.4924691987645660433e-7, 2.1207184805554665869e-7,
                 -1.0043224823968099609e-7, 4.7698101693639805658e-8, -2.271109460894316491e-8,
                 1.0838659214896954091e-8, -5.1834750419700466551e-9, 2.4836745438024783172e-9,
                 -1.1921401405860912074e-9, 5.7313672416788620133e-10, -2.7595228851242331452e-10,
                 1.3304764374244489481e-10, -6.4229645638381000221e-11, 3.1044247747322272762e-11,
                 -1.5021384080754142171e-11, 7.2759744802390796625e-12, -3.5277424765759150836e-12,
                 1.7119917905596179086e-12, -8.3153858414202848198e-13, 4.0422005252894400655e-13,
                 -1.9664756310966164904e-13, 9.5736303878385557638e-14);
}

// digamma(2 + z) for |z| <= 1/2: the series above, differentiated term by term.
DYNET_LIKE_HOST_DEVICE double digamma_from_2(double z) {
  return polynomial(z, 0.42278433509846713939, 0.64493406684822643647, -0.2020569031595942854,
                    0.082323233711138191516, -0.036927755143369926331, 0.017343061984449139715,
                    -0.0083492773819228268398, 0.0040773561979443393787, -0.0020083928260822144179,
                    0.00099457512781808533715, -0.0004941886041194645587, 0.00024608655330804829864,
                    -0.00012271334757848914675, 0.000061248135058704829259,
                    -0.000030588236307020493552, 0.000015282259408651871733,
                    -7.6371976378997622736e-6, 3.8172932649998398565e-6, -1.9082127165539389257e-6,
                    9.5396203387279611315e-7, -4.7693298678780646312e-7, 2.3845050272773299e-7,
                    -1.1921992596531107307e-7, 5.9608189051259479612e-8, -2.9803503514652280186e-8,
                    1.4901554828365041235e-8, -7.450711789835429492e-9);
}

// digamma(root + z) for |z| <= 1/4 by Taylor's series; root = 1.46163... is the zero of digamma.
DYNET_LIKE_HOST_DEVICE double digamma_from_root(double x) {
  constexpr double kRoot = 1.4616321449683622, kRest = 9.549995429965697e-17;
  const double z = (x - kRoot) - kRest;
  return z * polynomial(z, 0.96767224544762117043, -0.44276316898359210609, 0.25849976095565101062,
                        -0.1639427054424065275, 0.10782405069126236576, -0.072199561256454710926,
                        0.048804288164143107225, -0.033161126474847359292, 0.02259764823221810466,
                        -0.015424765904948959139, 0.010538791616612175388, -0.007204534386356868241,
                        0.0049267813957298534464, -0.0033698016554393280828,
                        0.0023051263267349278369, -0.0015769367714301972593,
                        0.0010788252019162965807, -0.00073807093899600512957,
                        0.00050495326583460203518, -0.00034546802510630769956,
                        0.00023635601564027052792, -0.00016170622091974803449);
}

// Negative numbers use the reflection formulas (6.1.17, 6.3.7).
DYNET_LIKE_HOST_DEVICE bool is_pole(double x) { return x <= 0 && x == std::floor(x); }
// The angle pi x, reduced to [-pi / 2, pi / 2] by subtracting half turns.
DYNET_LIKE_HOST_DEVICE double half_turns(double x) {
  return std::numbers::pi * (x - std::round(x));
}

// For x >= -1/2.
DYNET_LIKE_HOST_DEVICE double log_gamma_by_shifts(double x) {
  if (x >= kLarge) {
    constexpr double kHalfLogTwoPiLessHalf = 0.41893853320467274178;
    const double y = 1 / x;
    const double tail = y * polynomial(y * y, 1.0 / 12, -1.0 / 360, 1.0 / 1260, -1.0 / 1680,
                                       1.0 / 1188, -691.0 / 360360, 1.0 / 156, -3617.0 / 122400);
    return (x - 0.5) * (std::log(x) - 1) + (kHalfLogTwoPiLessHalf + tail);
  }
  // gamma(x) = gamma(x + 1) / x; all these differences are exact.
  if (x < 0.5) return log_gamma_from_2(x) - std::log1p(x) - std::log(std::abs(x));
  if (x < 1.25) return log_gamma_from_2(x - 1) - std::log1p(x - 1);
  if (x <= 2.5) return log_gamma_from_2(x - 2);
  double product = 1;
  while (x > 2.5) {
    x -= 1;
    product *= x;
  }
  return std::log(product) + log_gamma_from_2(x - 2);
}

DYNET_LIKE_HOST_DEVICE double digamma_of_positive(double x) {
  if (x >= kLarge) {
    const double y = 1 / x, z = y * y;
    const double tail = z * polynomial(z, 1.0 / 12, -1.0 / 120, 1.0 / 252, -1.0 / 240, 1.0 / 132,
                                       -691.0 / 32760, 1.0 / 12, -3617.0 / 8160);
    return std::log(x) - (0.5 * y + tail);
  }
  constexpr double kFromRoot = 1.2119140625, kTo2 = 1.7109375;
  double rest = 0;
  if (x < kFromRoot) {
    rest = -1 / x;
    x += 1;
  }
  while (x > 2.5) {
    x -= 1;
    rest += 1 / x;
  }
  if (x < kFromRoot) return (digamma_from_2(x - 1) - 1 / x) + rest;
  return (x < kTo2 ? digamma_from_root(x) : digamma_from_2(x - 2)) + rest;
}

}  // namespace parts

/// ln |gamma(x)|: infinite at 0, -1, -2, ...
DYNET_LIKE_HOST_DEVICE double log_gamma(double x) {
  if (parts::is_pole(x)) return std::numeric_limits<double>::infinity();
  if (!(x < -0.5)) return parts::log_gamma_by_shifts(x);
  constexpr double kLogPi = 1.1447298858494001741;
  const double sine = std::abs(std::sin(parts::half_turns(x)));
  return (kLogPi - std::log(sine)) - parts::log_gamma_by_shifts(1 - x);
}
DYNET_LIKE_HOST_DEVICE float log_gamma(float x) {
  return static_cast<float>(log_gamma(static_cast<double>(x)));
}

/// The derivative of log_gamma: NaN at 0, -1, -2, ...
DYNET_LIKE_HOST_DEVICE double digamma(double x) {
  if (parts::is_pole(x)) return std::numeric_limits<double>::quiet_NaN();
  if (!(x < 0)) return parts::digamma_of_positive(x);
  return parts::digamma_of_positive(1 - x) - std::numbers::pi / std::tan(parts::half_turns(x));
}
DYNET_LIKE_HOST_DEVICE float digamma(float x) {
  return static_cast<float>(digamma(static_cast<double>(x)));
}

}  // namespace dynet_like::ops::formulas::special

namespace dynet_like::detail {
namespace formulas = ops::formulas;
}

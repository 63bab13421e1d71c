// exp, log, tanh, sigmoid and normal probabilities over SIMD lanes, for one target. They have no
// branches and no tables, and the bits of an element do not depend on its place in a vector.
// tests/ops/accuracy_test.cpp has the error bounds. Included once per target, after
// hwy/foreach_target.h; the include guard is per target.

#if defined(DYNET_LIKE_MATH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_MATH_INL
#undef DYNET_LIKE_MATH_INL
#else
#define DYNET_LIKE_MATH_INL
#endif

#include <bit>
#include <limits>

#include "dynet_like/device/cpu/groups-inl.h"
#include "dynet_like/ops/normal_tail.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// Polynomials are minimax (Remez) on the interval to which the argument is reduced. ln2 is split
// such that its upper part times any exponent is exact.
template <class E>
struct MathConstants;

template <>
struct MathConstants<float> {
  static constexpr int mantissa_bits = 23, bias = 127;
  static constexpr double round = 0x1.8p23;  // x + round - round is x, rounded to an integer
  static constexpr double ln2_upper = 0x1.63p-1, ln2_lower = -0x1.bd0106p-13;
  static constexpr double exp_is_0 = -104, exp_is_inf = 89, exp_is_normal = -88;
  // (e^r - 1 - r) / r^2 for |r| <= ln2 / 2, with an error of 2^-28 of e^r
  static constexpr double exp[] = {0x1.fffffcp-2, 0x1.555490p-3, 0x1.5558f8p-5, 0x1.123b02p-7,
                                   0x1.6a2256p-10};
  // (ln((1 + s) / (1 - s)) / s - 2) / s^2 in powers of s^2, for (1 + s) / (1 - s) in
  // [sqrt(1/2), sqrt(2)]
  static constexpr double log[] = {0x1.555554p-1, 0x1.999a7cp-2, 0x1.2438a8p-2, 0x1.e2fdd2p-3};
};

template <>
struct MathConstants<double> {
  static constexpr int mantissa_bits = 52, bias = 1023;
  static constexpr double round = 0x1.8p52;
  static constexpr double ln2_upper = 0x1.62e42feep-1, ln2_lower = 0x1.a39ef35793c76p-33;
  static constexpr double exp_is_0 = -746, exp_is_inf = 710, exp_is_normal = -709;
  static constexpr double exp[] = {
      0x1.000000000000ap-1,  0x1.55555555554f8p-3,  0x1.5555555550754p-5,  0x1.1111111128170p-7,
      0x1.6c16c1846fc5ap-10, 0x1.a01a0128fe083p-13, 0x1.a019994461daep-16, 0x1.71df271f43240p-19,
      0x1.28ae34601dab8p-22, 0x1.ad7e8a1bb997dp-26};
  static constexpr double log[] = {0x1.5555555555593p-1, 0x1.999999997fb31p-2, 0x1.2492494217a8bp-2,
                                   0x1.c71c51e7f3125p-3, 0x1.7466462d33713p-3, 0x1.39a0f4f5f828fp-3,
                                   0x1.2f0d8ef234f70p-3};
};

template <class E>
using BitLanes = hn::Rebind<hwy::MakeUnsigned<E>, typename Lanes<E>::Tag>;
template <class E>
using Bits = hn::Vec<BitLanes<E>>;

template <class E>
HWY_INLINE Bits<E> bits_of(Lanes<E> x) {
  return hn::BitCast(BitLanes<E>(), x.v);
}
template <class E>
HWY_INLINE Lanes<E> from_bits(Bits<E> bits) {
  return Lanes<E>(hn::BitCast(typename Lanes<E>::Tag(), bits));
}

/// Lanes or Group.
template <class T>
concept LaneType = requires {
  typename T::Element;
};

template <LaneType T>
HWY_INLINE T square(T x) {
  return x * x;
}

template <class E>
HWY_INLINE typename Lanes<E>::Mask is_nan(Lanes<E> x) {
  return hn::IsNaN(x.v);
}
template <class E>
HWY_INLINE typename Group<E>::Mask is_nan(Group<E> x) {
  typename Group<E>::Mask result;
  for (std::size_t i = 0; i < Group<E>::count; ++i) result.part[i] = is_nan(x.part[i]);
  return result;
}

// c[0] + c[1] x + c[2] x^2 + ...
template <LaneType T, std::size_t n>
HWY_INLINE T polynomial(T x, const double (&c)[n]) {
  T result(c[n - 1]);
  for (std::size_t i = n - 1; i-- > 0;) result = fused(result, x, T(c[i]));
  return result;
}

// x clamped to [low, high]. A NaN stays a NaN, because x is the second operand.
template <LaneType T>
HWY_INLINE T within(double low, double high, T x) {
  return max(T(low), min(T(high), x));
}

// 2^n, from a number whose last digits are n + bias. Or one of two factors of 2^n, from a number
// whose last digits are n + 2 bias.
enum class Part { whole, half, rest };
template <Part part, class E>
HWY_INLINE Lanes<E> power_of_2(Lanes<E> digits) {
  Bits<E> bits = bits_of(digits);
  if (part == Part::half) bits = hn::ShiftRight<1>(bits);
  if (part == Part::rest) bits = hn::Sub(bits, hn::ShiftRight<1>(bits));
  return from_bits<E>(hn::ShiftLeft<MathConstants<E>::mantissa_bits>(bits));
}
template <Part part, class E>
HWY_INLINE Group<E> power_of_2(Group<E> digits) {
  return each([](auto x) DYNET_LIKE_BODY { return power_of_2<part>(x); }, digits);
}

// e^x = 2^n (1 + rest) with |rest| < 0.42; the last digits of `digits` are n + offset.
template <LaneType T>
struct SplitExp {
  T digits, rest;

  HWY_INLINE SplitExp(T x, int offset) {
    using C = MathConstants<typename T::Element>;
    const T round(C::round + offset);
    digits = fused(x, T(0x1.71547652b82fep0), round);  // log2(e)
    const T n = digits - round;
    const T r = fused(n, T(-C::ln2_lower), fused(n, T(-C::ln2_upper), x));
    rest = fused(r * r, polynomial(r, C::exp), r);
  }
};

/// e^x: 1.1 ulp in all cases; underflow is gradual.
template <LaneType T>
HWY_INLINE T exp(T x) {
  using C = MathConstants<typename T::Element>;
  const SplitExp<T> split(within(C::exp_is_0, C::exp_is_inf, x), 2 * C::bias);
  // 2^n may be too large or too small for a number; its two factors never are.
  const T half = power_of_2<Part::half>(split.digits);
  return fused(split.rest, half, half) * power_of_2<Part::rest>(split.digits);
}

/// e^x for x <= 0, as softmax needs it: 1.1 ulp. A subnormal result may be 0, and the result at
/// -infinity is 0.
template <LaneType T>
HWY_INLINE T exp_of_negative(T x) {
  using C = MathConstants<typename T::Element>;
  const SplitExp<T> split(max(T(C::exp_is_normal), x), C::bias);
  const T power = power_of_2<Part::whole>(split.digits);
  return fused(split.rest, power, power);
}

/// 1 / (1 + e^-x): 2.75 ulp, also in both tails; a subnormal result may be 0.
template <LaneType T>
HWY_INLINE T sigmoid(T x) {
  using C = MathConstants<typename T::Element>;
  const SplitExp<T> split(within(C::exp_is_normal, C::exp_is_inf, -x), C::bias);
  const T one(1);
  return one / fused(one + split.rest, power_of_2<Part::whole>(split.digits), one);
}

/// tanh x: 2.75 ulp. It is -m / (2 + m) with m = e^(-2|x|) - 1, which loses no digits for small x.
template <LaneType T>
HWY_INLINE T tanh(T x) {
  constexpr double kIs1 = -40;
  const SplitExp<T> split(max(T(kIs1), -abs(x + x)), MathConstants<typename T::Element>::bias);
  const T power = power_of_2<Part::whole>(split.digits);
  const T m = fused(split.rest, power, power - T(1));
  return copy_sign(m / (m + T(2)), x);
}

// Splits x > 0 into 2^n m with m in [sqrt(1/2), sqrt(2)).
template <class E>
struct SplitLog {
  Lanes<E> n, m;

  HWY_INLINE explicit SplitLog(Lanes<E> x) {
    using C = MathConstants<E>;
    using Integer = hwy::MakeUnsigned<E>;
    constexpr auto integer = [](double c) { return std::bit_cast<Integer>(static_cast<E>(c)); };
    constexpr Integer kMantissa = (Integer{1} << C::mantissa_bits) - 1;
    constexpr double kMiddle = 0.70710678118654752440, kDigits = C::round / 1.5;
    const auto constant = [](Integer c) DYNET_LIKE_BODY { return hn::Set(BitLanes<E>(), c); };
    const auto tiny = x < Lanes<E>(std::numeric_limits<E>::min());
    const Lanes<E> normal = select(tiny, x * Lanes<E>(2 * kDigits), x);
    const Bits<E> bits = hn::Add(bits_of(normal), constant(integer(1) - integer(kMiddle)));
    m = from_bits<E>(hn::Add(hn::And(bits, constant(kMantissa)), constant(integer(kMiddle))));
    // The bits of the exponent become the last digits of a large number, from which n is computed.
    const Bits<E> exponent = hn::ShiftRight<C::mantissa_bits>(bits);
    const Lanes<E> digits = from_bits<E>(hn::Or(exponent, constant(integer(kDigits))));
    n = digits - select(tiny, Lanes<E>(kDigits + C::bias + C::mantissa_bits + 1),
                        Lanes<E>(kDigits + C::bias));
  }
};

/// The natural logarithm: 1 ulp. ln m = ln((1 + s) / (1 - s)), a series in s = f / (2 + f) with
/// f = m - 1 (as in FreeBSD's msun, e_log.c).
template <class E>
HWY_INLINE Lanes<E> log(Lanes<E> x) {
  using C = MathConstants<E>;
  const SplitLog<E> split(x);
  const Lanes<E> f = split.m - Lanes<E>(1), half = Lanes<E>(0.5) * f * f;
  const Lanes<E> s = f / (Lanes<E>(2) + f), z = s * s;
  const Lanes<E> series = s * fused(z, polynomial(z, C::log), half);
  const Lanes<E> rest = f - (half - fused(split.n, Lanes<E>(C::ln2_lower), series));
  const Lanes<E> result = fused(split.n, Lanes<E>(C::ln2_upper), rest);
  const Lanes<E> zero(0), infinity(std::numeric_limits<E>::infinity());
  const Lanes<E> not_a_number(std::numeric_limits<E>::quiet_NaN());
  const Lanes<E> at_0(hn::IfThenElse(hn::Eq(x.v, zero.v), (-infinity).v, x.v));
  return select(zero < x, select(x < infinity, result, x), select(x < zero, not_a_number, at_0));
}
template <class E>
HWY_INLINE Group<E> log(Group<E> x) {
  return each([](auto lanes) DYNET_LIKE_BODY { return log(lanes); }, x);
}

/// ln(1 + x) for x >= 0: the logarithm of the rounded 1 + x, corrected for the rounding error
/// (Kahan, in the HP-15C Advanced Functions Handbook, 1982).
template <LaneType T>
HWY_INLINE T log1p(T x) {
  const T one(1), sum = one + x;
  return select(one < sum, log(sum) * (x / (sum - one)), x);
}

/// e^x - 1 for x <= 0: 2 t / (1 - t) with t = tanh(x / 2).
template <LaneType T>
HWY_INLINE T expm1(T x) {
  const T t = tanh(T(0.5) * x);
  return (t + t) / (T(1) - t);
}

/// The probability that a normal number is above x >= 0, (1 - erf(x / sqrt 2)) / 2, to 8 ulp; a
/// subnormal result may be 0. In floats: e^(-x^2 / 2) times a polynomial in t = 1 / (1 + 0.35 x),
/// fitted at Chebyshev's points of [0, 15]. In doubles: std::erfc.
HWY_INLINE Lanes<float> normal_tail(Lanes<float> any) {
  using T = Lanes<float>;
  static constexpr double factor[] = {0x1.1df062p-3,  0x1.1e8ba8p-3,  0x1.e921d6p-4,
                                      0x1.b7592cp-4,  -0x1.c24798p-6, 0x1.538fe6p-3,
                                      -0x1.0bfe68p-2, 0x1.2cf49ap-3,  -0x1.e7c246p-6};
  const T x = within(0, 15, any), t = T(1) / fused(T(0.35), x, T(1));
  // x^2 = upper^2 + rest, where upper has few digits, so that upper^2 is exact.
  const T upper = x + T(0x1.8p16) - T(0x1.8p16), rest = (x - upper) * (x + upper);
  const T power = exp_of_negative(T(-0.5) * rest) * exp_of_negative(T(-0.5) * upper * upper);
  return t * polynomial(t, factor) * power;
}
HWY_INLINE Lanes<double> normal_tail(Lanes<double> x) {
  double numbers[Lanes<double>::size];
  x.store(numbers);
  for (double& number : numbers) number = formulas::normal_tail(number);
  return Lanes<double>::load(numbers);
}
template <class E>
HWY_INLINE Group<E> normal_tail(Group<E> x) {
  return each([](auto lanes) DYNET_LIKE_BODY { return normal_tail(lanes); }, x);
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

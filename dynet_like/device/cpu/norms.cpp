// Norms on the CPU: along a dimension, and the normalisation of columns.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/norms.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/deferred.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/reduce-inl.h"
#include "dynet_like/ops/structured.h"

#include <algorithm>
#include <cmath>
#include <limits>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

using cpu::Deferred;

// The root of the sum or mean of the squares of n numbers, `distance` apart, for squares that
// overflow or underflow: the numbers are scaled by a power of 2, which is exact.
template <class E, bool mean>
E scaled_norm(const E* numbers, std::size_t n, std::size_t distance) {
  E largest = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const E x = std::abs(numbers[k * distance]);
    if (std::isnan(x)) return x;
    largest = std::max(largest, x);
  }
  if (largest == 0 || std::isinf(largest)) return largest;
  const int exponent = std::ilogb(largest);
  E sum = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const E x = std::ldexp(numbers[k * distance], -exponent);
    sum += x * x;
  }
  return std::ldexp(std::sqrt(sum_or_mean<mean>(sum, n)), exponent);
}

// The same, given the sum of squares as it was computed.
template <class E, bool mean>
HWY_INLINE E norm_of(E sum, const E* numbers, std::size_t n, std::size_t distance) {
  constexpr E kLeast = std::numeric_limits<E>::min() / std::numeric_limits<E>::epsilon();
  constexpr E kMost = std::numeric_limits<E>::max();
  const bool is_exact = sum >= kLeast && sum <= kMost;
  return is_exact ? std::sqrt(sum_or_mean<mean>(sum, n))
                  : scaled_norm<E, mean>(numbers, n, distance);
}

template <class E, bool mean>
void norm_forward(const ForwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  for_lines<E>(call, axis, [&](const E* from, E* out) DYNET_LIKE_BODY {
    sum_lines(
        axis, from, out, [](auto x) DYNET_LIKE_BODY { return x * x; },
        [](auto sum) DYNET_LIKE_BODY { return sum; });
    for (std::size_t l = 0; l < axis.inner; ++l) {
      out[l] = norm_of<E, mean>(out[l], from + l, axis.n, axis.inner);
    }
  });
}

// dx = x / y dy, divided by n for a mean. 0 if y is 0, since then no direction is steepest.
template <class E, bool mean>
void norm_backward(const BackwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const auto divisor = []<class T>(T y) DYNET_LIKE_BODY { return select(T(0) < y, y, y + T(1)); };
  for_gradients<E>(call, 0, [&](std::size_t i, E* to, bool add) DYNET_LIKE_BODY {
    const E *x = call.in[0].at<E>(i), *y = call.out.at<E>(i), *dy = call.dy.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, y += axis.inner, dy += axis.inner) {
      if (axis.inner == 1) {
        const Lanes<E> norm = divisor(Lanes<E>(static_cast<double>(*y)));
        const Lanes<E> part(static_cast<double>(sum_or_mean<mean>(*dy, axis.n)));
        put_groups(axis.n, to, add,
                   [&]<class T>(std::size_t at, std::size_t count)
                       DYNET_LIKE_BODY { return load_as<T>(x + at, count) / T(norm) * T(part); });
      } else {
        for_groups<E>(axis.inner, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
          const T norm = divisor(load_as<T>(y + at, count));
          const T part = sum_or_mean<mean>(load_as<T>(dy + at, count), axis.n);
          for (std::size_t k = 0; k < axis.n; ++k) {
            const std::size_t from = k * axis.inner + at;
            put(load_as<T>(x + from, count) / norm * part, to + from, count, add);
          }
        });
      }
      x += axis.n * axis.inner;
      to += axis.n * axis.inner;
    }
  });
}

// --------------------------------------------------------------------- normalisation of columns

// layer_norm is centred; rms_norm is the same with the mean 0, and without b.

// The least divisor of differences to the mean. It is far below meaningful differences between
// numbers, and makes a column of equal numbers become b.
constexpr double kLeastDeviation = 1e-12;

template <class E>
HWY_INLINE Lanes<E> in_all_lanes(E x) {
  return Lanes<E>(static_cast<double>(x));
}

// The differences of a column's numbers to their mean. The mean is computed as a distance from the
// first number: for equal numbers it is exactly 0, whereas a plain mean may be rounded.
template <class E, bool centred>
struct Centred {
  const E* x;
  Lanes<E> first, mean;

  Centred(const E* column, E distance)
      : x(column), first(in_all_lanes(centred ? *column : E(0))), mean(in_all_lanes(distance)) {}
  template <class T>
  HWY_INLINE T at(std::size_t at, std::size_t count) const {
    if constexpr (!centred) return load_as<T>(x + at, count);
    return load_as<T>(x + at, count) - T(first) - T(mean);
  }
};

// Normalises a column of x into one of y. `saved`, if not null, gets the mean's distance from the
// first number and the factor of the differences.
template <class E, bool centred>
HWY_INLINE void normalise(const E* x, const E* g, const E* b, E epsilon, std::size_t n, E* y,
                          E* saved) {
  const Row<E> column{n};
  Centred<E, centred> difference(x, E(0));
  if constexpr (centred) {
    const auto from_first = [&]<class T>(std::size_t at, std::size_t count)
                                DYNET_LIKE_BODY { return difference.template at<T>(at, count); };
    difference.mean = column.template reduce<Sum>(from_first) / Lanes<E>(static_cast<double>(n));
  }
  const auto squares = [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T d = difference.template at<T>(at, count);
    store(d, y + at, count);
    return d * d;
  };
  const E sum = hn::GetLane(column.template reduce<Sum>(squares).v);
  E deviation = norm_of<E, true>(sum, y, n, 1);
  if (epsilon > 0) deviation = std::hypot(deviation, std::sqrt(epsilon));
  const E factor = E(1) / (deviation < E(kLeastDeviation) ? E(kLeastDeviation) : deviation);
  column.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T normal = load_as<T>(y + at, count) * T(in_all_lanes(factor));
    const T gain = load_as<T>(g + at, count);
    if constexpr (centred) {
      store(fused(normal, gain, load_as<T>(b + at, count)), y + at, count);
    } else {
      store(normal * gain, y + at, count);
    }
  });
  if (saved == nullptr) return;
  saved[0] = hn::GetLane(difference.mean.v);
  saved[1] = factor;
}

template <class E, bool centred>
void normalise_forward(const ForwardCall& call) {
  const std::size_t n = call.type->inputs[1].size(), columns = call.type->output_size / n;
  const E epsilon = ops::epsilon_of(*call.type);
  E* saved = static_cast<E*>(call.saved);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* x = call.in[0].at<E>(i);
    E* y = call.out.at<E>(i);
    for (std::size_t k = 0; k < columns; ++k, x += n, y += n) {
      normalise<E, centred>(x, call.in[1].at<E>(i), centred ? call.in[2].at<E>(i) : nullptr,
                            epsilon, n, y, saved);
      if (saved != nullptr) saved += 2;
    }
  }
}

// The gradients of one column. With z = (x - mean) / deviation: dg = z dy and db = dy, both summed
// over columns, and dx = (g dy - mean(g dy) - z mean(z g dy)) / deviation, without mean(g dy) if x
// is not centred. But dx is 0 if the numbers count as equal: rounding errors would otherwise
// outweigh all other columns together.
template <class E, bool centred>
HWY_INLINE void normalise_backward(const E* x, const E* g, const E* dy, const E* saved,
                                   std::size_t n, E* dg, E* db, bool is_first, E* dx, bool add) {
  const Row<E> column{n};
  const Centred<E, centred> difference(x, saved[0]);
  const Lanes<E> factor = in_all_lanes(saved[1]), count_of_all(static_cast<double>(n));
  const auto normal = [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    return difference.template at<T>(at, count) * T(factor);
  };
  column.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T slope = load_as<T>(dy + at, count);
    put(slope * normal.template operator()<T>(at, count), dg + at, count, !is_first);
    if constexpr (centred) put(slope, db + at, count, !is_first);
  });
  if (dx == nullptr) return;
  const auto weighted = [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    return load_as<T>(dy + at, count) * load_as<T>(g + at, count);
  };
  const auto along = [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    return weighted.template operator()<T>(at, count) * normal.template operator()<T>(at, count);
  };
  const Lanes<E> mean =
      centred ? column.template reduce<Sum>(weighted) / count_of_all : Lanes<E>(0.0);
  const Lanes<E> mean_along = column.template reduce<Sum>(along) / count_of_all;
  const bool are_equal = saved[1] >= E(1) / E(kLeastDeviation);
  const Lanes<E> steepness = are_equal ? Lanes<E>(0.0) : factor;
  put_groups(n, dx, add, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T rest = weighted.template operator()<T>(at, count) - T(mean);
    return (rest - normal.template operator()<T>(at, count) * T(mean_along)) * T(steepness);
  });
}

template <class E, bool centred>
void normalise_backward(const BackwardCall& call) {
  const std::size_t n = call.type->inputs[1].size(), columns = call.type->output_size / n;
  const Deferred<E> deferred(call);
  for (std::size_t i = 0; i < call.n; ++i) {
    E *dg = deferred(i), *db = dg + n;
    E* dx = call.dx[0].wanted() ? call.dx[0].at<E>(i) : nullptr;
    for (std::size_t k = 0; k < columns; ++k) {
      normalise_backward<E, centred>(call.in[0].at<E>(i) + k * n, call.in[1].at<E>(i),
                                     call.dy.at<E>(i) + k * n, call.saved.at<E>(i) + 2 * k, n, dg,
                                     db, k == 0, dx == nullptr ? nullptr : dx + k * n,
                                     dx != nullptr && call.dx[0].add[i] != 0);
    }
    for (unsigned j = 1; j < (centred ? 3u : 2u); ++j) {
      if (!call.dx[j].wanted() || call.dx[j].items[i] == nullptr) continue;
      put_elements(j == 1 ? dg : db, call.dx[j].at<E>(i), n, call.dx[j].add[i] != 0);
    }
  }
}

std::vector<KernelEntry> norm_kernels() {
  return {{"norm_dim", DYNET_LIKE_KERNELS(norm_forward, norm_backward, false)},
          {"rms_dim", DYNET_LIKE_KERNELS(norm_forward, norm_backward, true)},
          {"layer_norm", DYNET_LIKE_KERNELS(normalise_forward, normalise_backward, true)},
          {"rms_norm", DYNET_LIKE_KERNELS(normalise_forward, normalise_backward, false)}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

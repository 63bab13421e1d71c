// The passes of device/updates.h. Every element is by itself, so that rows that are updated alone
// have the bits of a whole table; products and sums are rounded one by one, as in plain code. Where
// elements are summed the order depends on their number alone.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/updates.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include <limits>

#include "dynet_like/device/cpu/reduce-inl.h"
#include "dynet_like/device/updates.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

template <class E>
void descend_elements(E* w, const E* g, std::size_t n, E rate, E scale) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T step = T(rate) * (T(scale) * load_as<T>(g + at, count));
    store(load_as<T>(w + at, count) - step, w + at, count);
  });
}

template <class E>
void descend_elements(E* w, E* v, const E* g, std::size_t n, E momentum, E rate, E scale) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T step = T(rate) * (T(scale) * load_as<T>(g + at, count));
    const T velocity = T(momentum) * load_as<T>(v + at, count) + step;
    store(velocity, v + at, count);
    store(load_as<T>(w + at, count) - velocity, w + at, count);
  });
}

template <class E>
void adam_elements(E* w, E* m, E* v, const E* g, std::size_t n, const AdamConstants& constants,
                   E rate, E scale) {
  const E b1 = static_cast<E>(constants.beta_1), b2 = static_cast<E>(constants.beta_2);
  const E epsilon = static_cast<E>(constants.epsilon);
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T h = T(scale) * load_as<T>(g + at, count);
    const T mean = T(b1) * load_as<T>(m + at, count) + T(1 - b1) * h;
    const T square = T(b2) * load_as<T>(v + at, count) + T(1 - b2) * (h * h);
    store(mean, m + at, count);
    store(square, v + at, count);
    const T step = T(rate) * mean / (sqrt(square) + T(epsilon));
    store(load_as<T>(w + at, count) - step, w + at, count);
  });
}

template <class E>
void amsgrad_elements(E* w, E* m, E* v, E* top, const E* g, std::size_t n,
                      const AdamConstants& constants, E rate, E scale) {
  const E b1 = static_cast<E>(constants.beta_1), b2 = static_cast<E>(constants.beta_2);
  const E epsilon = static_cast<E>(constants.epsilon);
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T h = T(scale) * load_as<T>(g + at, count);
    const T mean = T(b1) * load_as<T>(m + at, count) + T(1 - b1) * h;
    const T square = T(b2) * load_as<T>(v + at, count) + T(1 - b2) * (h * h);
    const T largest = max(load_as<T>(top + at, count), square);
    store(mean, m + at, count);
    store(square, v + at, count);
    store(largest, top + at, count);
    const T step = T(rate) * mean / (sqrt(largest) + T(epsilon));
    store(load_as<T>(w + at, count) - step, w + at, count);
  });
}

template <class E>
void adagrad_elements(E* w, E* s, const E* g, std::size_t n, E epsilon, E rate, E scale) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T h = T(scale) * load_as<T>(g + at, count);
    // A sum of many may overflow: then steps stay small.
    const T sum = min(load_as<T>(s + at, count) + h * h, T(std::numeric_limits<E>::max()));
    store(sum, s + at, count);
    const T step = T(rate) * h / sqrt(sum + T(epsilon));
    store(load_as<T>(w + at, count) - step, w + at, count);
  });
}

template <class E>
void rmsprop_elements(E* w, E* s, const E* g, std::size_t n, E rho, E epsilon, E rate, E scale) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T h = T(scale) * load_as<T>(g + at, count);
    const T square = T(rho) * load_as<T>(s + at, count) + T(1 - rho) * (h * h);
    store(square, s + at, count);
    const T step = T(rate) * h / sqrt(square + T(epsilon));
    store(load_as<T>(w + at, count) - step, w + at, count);
  });
}

template <class E>
void adadelta_elements(E* w, E* s, E* d, const E* g, std::size_t n, E rho, E epsilon, E rate,
                       E scale) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T h = T(scale) * load_as<T>(g + at, count);
    const T square = T(rho) * load_as<T>(s + at, count) + T(1 - rho) * (h * h);
    const T change = load_as<T>(d + at, count);
    const T step = h * sqrt(change + T(epsilon)) / sqrt(square + T(epsilon));
    store(square, s + at, count);
    store(T(rho) * change + T(1 - rho) * (step * step), d + at, count);
    store(load_as<T>(w + at, count) - T(rate) * step, w + at, count);
  });
}

template <class E>
void scale_elements(E* x, std::size_t n, std::span<const double> factors) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    T value = load_as<T>(x + at, count);
    for (const double factor : factors) value = value * T(factor);
    store(value, x + at, count);
  });
}

template <class E>
void average_elements(E* mean, const E* x, std::size_t n, E share) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T old = load_as<T>(mean + at, count), value = load_as<T>(x + at, count);
    // The difference of two infinities would be NaN.
    const T change =
        select(abs(old) < T(std::numeric_limits<double>::infinity()), value - old, value);
    store(old + T(share) * change, mean + at, count);
  });
}

template <class E>
bool all_elements_below(const E* x, std::size_t n, double limit) {
  const auto is_fault = [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    return select(abs(load_as<T>(x + at, count)) < T(limit), T(0), T(1));
  };
  return hn::GetLane(Row<E>{n}.template reduce<Maximum>(is_fault).v) <= 0;
}

HWY_INLINE Lanes<double> load_squares(const double* x) {
  const Lanes<double> lanes = Lanes<double>::load(x);
  return lanes * lanes;
}
HWY_INLINE Lanes<double> load_squares(const float* x) {
  const Lanes<double>::Tag d;
  const Lanes<double> lanes(hn::PromoteTo(d, hn::LoadU(hn::Rebind<float, decltype(d)>(), x)));
  return lanes * lanes;
}

// Four chains of vectors, as numbers become twice as long on the way.
template <class E>
double sum_of_element_squares(const E* x, std::size_t n) {
  constexpr std::size_t kLanes = Lanes<double>::size;
  Group<double> sums(0);
  std::size_t at = 0;
  for (; at + Group<double>::size <= n; at += Group<double>::size) {
    for (std::size_t i = 0; i < Group<double>::count; ++i) {
      sums.part[i] = sums.part[i] + load_squares(x + at + i * kLanes);
    }
  }
  double sum = ((sums.part[0] + sums.part[1]) + (sums.part[2] + sums.part[3])).sum();
  for (; at < n; ++at) sum += static_cast<double>(x[at]) * static_cast<double>(x[at]);
  return sum;
}

template <class F>
auto with_type(DType dtype, F&& f) {
  return dtype == DType::f32 ? f(float()) : f(double());
}

void descend(DType dtype, void* w, const void* g, std::size_t n, double rate, double scale) {
  with_type(dtype, [&]<class E>(E) {
    descend_elements(static_cast<E*>(w), static_cast<const E*>(g), n, static_cast<E>(rate),
                     static_cast<E>(scale));
  });
}
void descend_with_momentum(DType dtype, void* w, void* v, const void* g, std::size_t n,
                           double momentum, double rate, double scale) {
  with_type(dtype, [&]<class E>(E) {
    descend_elements(static_cast<E*>(w), static_cast<E*>(v), static_cast<const E*>(g), n,
                     static_cast<E>(momentum), static_cast<E>(rate), static_cast<E>(scale));
  });
}
void adam(DType dtype, void* w, void* m, void* v, const void* g, std::size_t n,
          const AdamConstants& constants, double rate, double scale) {
  with_type(dtype, [&]<class E>(E) {
    adam_elements(static_cast<E*>(w), static_cast<E*>(m), static_cast<E*>(v),
                  static_cast<const E*>(g), n, constants, static_cast<E>(rate),
                  static_cast<E>(scale));
  });
}
void amsgrad(DType dtype, void* w, void* m, void* v, void* top, const void* g, std::size_t n,
             const AdamConstants& constants, double rate, double scale) {
  with_type(dtype, [&]<class E>(E) {
    amsgrad_elements(static_cast<E*>(w), static_cast<E*>(m), static_cast<E*>(v),
                     static_cast<E*>(top), static_cast<const E*>(g), n, constants,
                     static_cast<E>(rate), static_cast<E>(scale));
  });
}
void adagrad(DType dtype, void* w, void* s, const void* g, std::size_t n, double epsilon,
             double rate, double scale) {
  with_type(dtype, [&]<class E>(E) {
    adagrad_elements(static_cast<E*>(w), static_cast<E*>(s), static_cast<const E*>(g), n,
                     static_cast<E>(epsilon), static_cast<E>(rate), static_cast<E>(scale));
  });
}
void rmsprop(DType dtype, void* w, void* s, const void* g, std::size_t n, double rho,
             double epsilon, double rate, double scale) {
  with_type(dtype, [&]<class E>(E) {
    rmsprop_elements(static_cast<E*>(w), static_cast<E*>(s), static_cast<const E*>(g), n,
                     static_cast<E>(rho), static_cast<E>(epsilon), static_cast<E>(rate),
                     static_cast<E>(scale));
  });
}
void adadelta(DType dtype, void* w, void* s, void* d, const void* g, std::size_t n, double rho,
              double epsilon, double rate, double scale) {
  with_type(dtype, [&]<class E>(E) {
    adadelta_elements(static_cast<E*>(w), static_cast<E*>(s), static_cast<E*>(d),
                      static_cast<const E*>(g), n, static_cast<E>(rho), static_cast<E>(epsilon),
                      static_cast<E>(rate), static_cast<E>(scale));
  });
}
void scale(DType dtype, void* x, std::size_t n, std::span<const double> factors) {
  with_type(dtype, [&]<class E>(E) { scale_elements(static_cast<E*>(x), n, factors); });
}
void average(DType dtype, void* mean, const void* x, std::size_t n, double share) {
  with_type(dtype, [&]<class E>(E) {
    average_elements(static_cast<E*>(mean), static_cast<const E*>(x), n, static_cast<E>(share));
  });
}
bool all_below(DType dtype, const void* x, std::size_t n, double limit) {
  return with_type(
      dtype, [&]<class E>(E) { return all_elements_below(static_cast<const E*>(x), n, limit); });
}
double sum_of_squares(DType dtype, const void* x, std::size_t n) {
  return with_type(dtype,
                   [&]<class E>(E) { return sum_of_element_squares(static_cast<const E*>(x), n); });
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail::updates {

HWY_EXPORT(descend);
HWY_EXPORT(descend_with_momentum);
HWY_EXPORT(adam);
HWY_EXPORT(amsgrad);
HWY_EXPORT(adagrad);
HWY_EXPORT(rmsprop);
HWY_EXPORT(adadelta);
HWY_EXPORT(scale);
HWY_EXPORT(average);
HWY_EXPORT(all_below);
HWY_EXPORT(sum_of_squares);

void descend(DType dtype, void* w, const void* g, std::size_t n, double rate, double scale) {
  HWY_DYNAMIC_DISPATCH(descend)(dtype, w, g, n, rate, scale);
}
void descend_with_momentum(DType dtype, void* w, void* v, const void* g, std::size_t n,
                           double momentum, double rate, double scale) {
  HWY_DYNAMIC_DISPATCH(descend_with_momentum)(dtype, w, v, g, n, momentum, rate, scale);
}
void adam(DType dtype, void* w, void* m, void* v, const void* g, std::size_t n,
          const AdamConstants& constants, double rate, double scale) {
  HWY_DYNAMIC_DISPATCH(adam)(dtype, w, m, v, g, n, constants, rate, scale);
}
void amsgrad(DType dtype, void* w, void* m, void* v, void* top, const void* g, std::size_t n,
             const AdamConstants& constants, double rate, double scale) {
  HWY_DYNAMIC_DISPATCH(amsgrad)(dtype, w, m, v, top, g, n, constants, rate, scale);
}
void adagrad(DType dtype, void* w, void* s, const void* g, std::size_t n, double epsilon,
             double rate, double scale) {
  HWY_DYNAMIC_DISPATCH(adagrad)(dtype, w, s, g, n, epsilon, rate, scale);
}
void rmsprop(DType dtype, void* w, void* s, const void* g, std::size_t n, double rho,
             double epsilon, double rate, double scale) {
  HWY_DYNAMIC_DISPATCH(rmsprop)(dtype, w, s, g, n, rho, epsilon, rate, scale);
}
void adadelta(DType dtype, void* w, void* s, void* d, const void* g, std::size_t n, double rho,
              double epsilon, double rate, double scale) {
  HWY_DYNAMIC_DISPATCH(adadelta)(dtype, w, s, d, g, n, rho, epsilon, rate, scale);
}
void scale(DType dtype, void* x, std::size_t n, std::span<const double> factors) {
  HWY_DYNAMIC_DISPATCH(scale)(dtype, x, n, factors);
}
void average(DType dtype, void* mean, const void* x, std::size_t n, double share) {
  HWY_DYNAMIC_DISPATCH(average)(dtype, mean, x, n, share);
}
bool all_below(DType dtype, const void* x, std::size_t n, double limit) {
  return HWY_DYNAMIC_DISPATCH(all_below)(dtype, x, n, limit);
}
double sum_of_squares(DType dtype, const void* x, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares)(dtype, x, n);
}

}  // namespace dynet_like::detail::updates
#endif

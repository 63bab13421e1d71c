// The passes of device/updates.h. Every element is by itself, so that rows that are updated alone
// have the bits of a whole table; products and sums are rounded one by one, as in plain code.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/updates.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/reduce-inl.h"
#include "dynet_like/device/updates.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

using updates::AdamConstants;

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

// 0 x is 0 for every finite x, else NaN.
template <class E>
bool all_elements_finite(const E* x, std::size_t n) {
  const auto nothing = [&]<class T>(std::size_t at, std::size_t count)
                           DYNET_LIKE_BODY { return load_as<T>(x + at, count) * T(0); };
  return hn::GetLane(Row<E>{n}.template reduce<Sum>(nothing).v) == 0;
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
bool all_finite(DType dtype, const void* x, std::size_t n) {
  return with_type(dtype,
                   [&]<class E>(E) { return all_elements_finite(static_cast<const E*>(x), n); });
}
double sum_of_squares(DType dtype, const void* x, std::size_t n) {
  return with_type(dtype,
                   [&]<class E>(E) { return sum_of_element_squares(static_cast<const E*>(x), n); });
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::updates {

HWY_EXPORT(descend);
HWY_EXPORT(descend_with_momentum);
HWY_EXPORT(adam);
HWY_EXPORT(all_finite);
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
bool all_finite(DType dtype, const void* x, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(all_finite)(dtype, x, n);
}
double sum_of_squares(DType dtype, const void* x, std::size_t n) {
  return HWY_DYNAMIC_DISPATCH(sum_of_squares)(dtype, x, n);
}

}  // namespace dynet_like::updates
#endif

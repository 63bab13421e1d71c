// The passes of device/updates.h. Elements are independent, so that rows that are updated alone
// have the same bits as in a whole table. Products and sums are rounded one by one, as in plain
// code. The order of sums depends on their number of elements alone.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/updates.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include <algorithm>
#include <limits>

#include "dynet_like/device/cpu/reduce-inl.h"
#include "dynet_like/device/updates.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

template <class T>
HWY_INLINE T largest_number() {
  return T(std::numeric_limits<typename T::Element>::max());
}
#define LANE HWY_INLINE
#include "dynet_like/device/update_formulas.h"
#undef LANE

template <class F>
auto with_type(DType dtype, F&& f) {
  return dtype == DType::f32 ? f(float()) : f(double());
}

template <class E>
void scale_elements(E* x, std::size_t n, std::span<const double> factors) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    T value = load_as<T>(x + at, count);
    for (const double factor : factors) value = value * T(factor);
    store(value, x + at, count);
  });
}

void scale(const Elements& e, std::span<const double> factors) {
  with_type(e.dtype, [&]<class E>(E) {
    for (std::size_t i = 0; i < e.places(); ++i) {
      scale_elements(static_cast<E*>(e.values) + e.row<E>(i).first, e.count, factors);
    }
  });
}

template <class Kind, class E>
HWY_INLINE void update_row(const Elements& e, typename Elements::Row<E> row,
                           const UpdateNumbers<E> numbers, E scale) {
  constexpr std::size_t kMoments = Kind::moments.size();
  E* const values = static_cast<E*>(e.values) + row.first;
  E* moments[Elements::kMaxMoments];
  for (std::size_t k = 0; k < kMoments; ++k) moments[k] = static_cast<E*>(e.moments[k]) + row.first;
  // Without a gradient, all steps read the same zeros.
  static constexpr E kZeros[Group<E>::size] = {};
  const E* const gradient = row.gradient == nullptr ? kZeros : row.gradient;
  const std::size_t places = row.gradient == nullptr ? 0 : ~std::size_t{0};
  for_groups<E>(e.count, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const auto c = numbers_of<T>(numbers.rate, numbers);
    const T h = T(scale) * load_as<T>(gradient + (at & places), count);
    T m[Elements::kMaxMoments];
    for (std::size_t k = 0; k < kMoments; ++k) m[k] = load_as<T>(moments[k] + at, count);
    const T value = updated(Kind(), c, load_as<T>(values + at, count), h, m);
    for (std::size_t k = 0; k < kMoments; ++k) store(m[k], moments[k] + at, count);
    store(value, values + at, count);
  });
}

// The rows of a list are random accesses to memory.
template <class E>
void prefetch(const Elements& e, std::size_t first) {
  const auto fetch = [&](void* numbers) {
    const auto* const row = static_cast<const std::byte*>(numbers) + first * sizeof(E);
    for (std::size_t at = 0; at < e.count * sizeof(E); at += 64) __builtin_prefetch(row + at, 1);
  };
  fetch(e.values);
  for (void* const moment : e.moments) {
    if (moment != nullptr) fetch(moment);
  }
}

template <class Kind, class E>
void update_rows(const UpdateFormula& formula, const Elements& e, const Step& step) {
  constexpr std::size_t kAhead = 4;
  const auto numbers = numbers_of<E>(step.rate, formula);
  for (std::size_t i = 0; i < e.places(); ++i) {
    if (e.rows != nullptr && i + kAhead < e.row_count) prefetch<E>(e, e.row<E>(i + kAhead).first);
    const auto row = e.row<E>(i);
    if (row.gradient != nullptr || !e.only_kept) {
      update_row<Kind>(e, row, numbers, static_cast<E>(step.scale));
    }
    if (step.keep == 1) continue;
    scale_elements(static_cast<E*>(e.values) + row.first, e.count, std::span(&step.keep, 1));
  }
}

void apply(const UpdateFormula& formula, std::span<const Elements> all, const Step& step) {
  const auto update = [&]<class Kind>(Kind) {
    for (const Elements& e : all) {
      with_type(e.dtype, [&]<class E>(E) { update_rows<Kind, E>(formula, e, step); });
    }
  };
  std::visit(update, formula.kind);
}

template <class Formula, class E>
void combine_elements(E* to, const E* from, std::size_t n, E share) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    const T old = load_as<T>(to + at, count), x = load_as<T>(from + at, count);
    store(Formula::value(old, x, T(share)), to + at, count);
  });
}
template <class Formula>
void combine(DType dtype, std::span<const Pair> pairs) {
  with_type(dtype, [&]<class E>(E) {
    for (const Pair& pair : pairs) {
      combine_elements<Formula>(static_cast<E*>(pair.to), static_cast<const E*>(pair.from),
                                pair.count, static_cast<E>(pair.share));
    }
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

// Four chains of vectors; numbers are converted to double first.
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

void average(DType dtype, std::span<const Pair> pairs) { combine<TowardsMean>(dtype, pairs); }
void add(DType dtype, std::span<const Pair> pairs) { combine<AddTo>(dtype, pairs); }

bool all_below(DType dtype, std::span<const Stretch> stretches, double limit) {
  return with_type(dtype, [&]<class E>(E) {
    return std::all_of(stretches.begin(), stretches.end(), [&](const Stretch& stretch) {
      return all_elements_below(static_cast<const E*>(stretch.begin), stretch.count, limit);
    });
  });
}

double sum_of_squares(DType dtype, std::span<const Stretch> stretches) {
  return with_type(dtype, [&]<class E>(E) {
    double sum = 0;
    for (const Stretch& stretch : stretches) {
      sum += sum_of_element_squares(static_cast<const E*>(stretch.begin), stretch.count);
    }
    return sum;
  });
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {

HWY_EXPORT(apply);
HWY_EXPORT(scale);
HWY_EXPORT(average);
HWY_EXPORT(add);
HWY_EXPORT(all_below);
HWY_EXPORT(sum_of_squares);

namespace {

class CpuUpdates final : public Updates {
 public:
  void apply(const UpdateFormula& formula, std::span<const Elements> all,
             Step step) const override {
    HWY_DYNAMIC_DISPATCH(apply)(formula, all, step);
  }
  void scale(const Elements& e, std::span<const double> factors) const override {
    HWY_DYNAMIC_DISPATCH(scale)(e, factors);
  }
  void average(DType dtype, std::span<const Pair> pairs) const override {
    HWY_DYNAMIC_DISPATCH(average)(dtype, pairs);
  }
  void add(DType dtype, std::span<const Pair> pairs) const override {
    HWY_DYNAMIC_DISPATCH(add)(dtype, pairs);
  }
  bool all_below(DType dtype, std::span<const Stretch> stretches, double limit) const override {
    return HWY_DYNAMIC_DISPATCH(all_below)(dtype, stretches, limit);
  }
  double sum_of_squares(DType dtype, std::span<const Stretch> stretches) const override {
    return HWY_DYNAMIC_DISPATCH(sum_of_squares)(dtype, stretches);
  }
};

}  // namespace

const Updates& cpu_updates() {
  static const CpuUpdates updates;
  return updates;
}

}  // namespace dynet_like::detail
#endif

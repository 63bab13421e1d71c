// Reductions of vectors that lie along the lanes, or side by side, one per lane.
// Included once per target, after hwy/foreach_target.h; the include guard is per target.

#if defined(DYNET_LIKE_REDUCE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_REDUCE_INL
#undef DYNET_LIKE_REDUCE_INL
#else
#define DYNET_LIKE_REDUCE_INL
#endif

#include <limits>

#include "dynet_like/device/cpu/groups-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

struct Maximum {
  static constexpr double neutral = -std::numeric_limits<double>::infinity();
  template <class T>
  static HWY_INLINE T combine(T a, T b) {
    return max(a, b);
  }
  template <class E>
  static HWY_INLINE E across(Lanes<E> lanes) {
    return lanes.max();
  }
};

struct Sum {
  static constexpr double neutral = 0;
  template <class T>
  static HWY_INLINE T combine(T a, T b) {
    return a + b;
  }
  template <class E>
  static HWY_INLINE E across(Lanes<E> lanes) {
    return lanes.sum();
  }
};

// One vector of n elements, along the lanes. A reduction is four chains, then one across lanes.
template <class E>
struct Row {
  std::size_t n;

  // Calls f<T>(at, count) as for_groups does.
  template <class F>
  HWY_INLINE void each(F&& f) const {
    for_groups<E>(n, f);
  }
  // f<T>(at, count) over all elements, combined; the result is in all lanes.
  template <class Operation, class F>
  HWY_INLINE Lanes<E> reduce(F&& f) const {
    const Lanes<E> neutral(Operation::neutral);
    Group<E> parts(neutral);
    std::size_t at = 0;
    for (; at + Group<E>::size <= n; at += Group<E>::size) {
      parts = Operation::combine(parts, f.template operator()<Group<E>>(at, Group<E>::size));
    }
    Lanes<E> all = Operation::combine(Operation::combine(parts.part[0], parts.part[1]),
                                      Operation::combine(parts.part[2], parts.part[3]));
    for (; at + Lanes<E>::size <= n; at += Lanes<E>::size) {
      all = Operation::combine(all, f.template operator()<Lanes<E>>(at, Lanes<E>::size));
    }
    if (at < n) {
      const Lanes<E> tail = f.template operator()<Lanes<E>>(at, n - at);
      all = Operation::combine(all, select(Lanes<E>::first(n - at), tail, neutral));
    }
    return Lanes<E>(static_cast<double>(Operation::across(all)));
  }
};

// `count` vectors of n elements side by side, one per lane; their elements k begin at k * stride.
template <class E>
struct Columns {
  std::size_t n, stride, count;

  template <class F>
  HWY_INLINE void each(F&& f) const {
    for (std::size_t k = 0; k < n; ++k) f.template operator()<Lanes<E>>(k * stride, count);
  }
  template <class Operation, class F>
  HWY_INLINE Lanes<E> reduce(F&& f) const {
    Lanes<E> all = f.template operator()<Lanes<E>>(0, count);
    for (std::size_t k = 1; k < n; ++k) {
      all = Operation::combine(all, f.template operator()<Lanes<E>>(k * stride, count));
    }
    return all;
  }
};

// For lanes and for plain numbers.
template <bool average, class T>
HWY_INLINE T sum_or_mean(T sum, std::size_t count) {
  return average ? sum / T(static_cast<double>(count)) : sum;
}

// Writes finish(sum of term(x)) along the dimension, for all lines that lie side by side.
template <class E, class Term, class Finish>
HWY_INLINE void sum_lines(const Axis& axis, const E* from, E* to, Term term, Finish finish) {
  if (axis.inner == 1) {
    const auto terms = [&]<class T>(std::size_t at, std::size_t count)
                           DYNET_LIKE_BODY { return term(load_as<T>(from + at, count)); };
    *to = finish(hn::GetLane(Row<E>{axis.n}.template reduce<Sum>(terms).v));
    return;
  }
  for_groups<E>(axis.inner, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    T sum(0);
    for (std::size_t k = 0; k < axis.n; ++k) {
      sum = sum + term(load_as<T>(from + k * axis.inner + at, count));
    }
    store(finish(sum), to + at, count);
  });
}

// Calls f(lines of an input that lie side by side, their results) for all items of a call.
template <class E, class F>
HWY_INLINE void for_lines(const ForwardCall& call, const Axis& axis, F f) {
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* from = call.in[0].at<E>(i);
    E* out = call.out.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, from += axis.n * axis.inner, out += axis.inner) {
      f(from, out);
    }
  }
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

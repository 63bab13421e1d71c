// Reductions of vectors that lie along the lanes, or side by side, one per lane.
// Included once per target, after hwy/foreach_target.h; the include guard is per target.

#if defined(DYNET_LIKE_REDUCE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_REDUCE_INL
#undef DYNET_LIKE_REDUCE_INL
#else
#define DYNET_LIKE_REDUCE_INL
#endif

#include <algorithm>
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

// A long chain of additions loses digits. So steps are reduced in blocks, and blocks in pairs
// (Higham 1993, "The accuracy of floating point summation").
constexpr std::size_t kBlockSteps = 32;

// block(first, begin, end) is the reduction of these steps, after `first`.
template <class Operation, class T, class Block>
HWY_NOINLINE T reduce_blocks(std::size_t n, T first, const Block& block) {
  T pending[48];  // number l: of 2^l blocks, if bit l of their number is set
  std::size_t blocks = 0;
  for (std::size_t begin = 0; begin < n; begin += kBlockSteps, ++blocks) {
    T all =
        block(begin == 0 ? first : T(Operation::neutral), begin, HWY_MIN(begin + kBlockSteps, n));
    std::size_t l = 0;
    for (; (blocks >> l & 1) != 0; ++l) all = Operation::combine(pending[l], all);
    pending[l] = all;
  }
  T all(Operation::neutral);
  for (std::size_t l = 0; blocks >> l != 0; ++l) {
    if ((blocks >> l & 1) != 0) all = Operation::combine(pending[l], all);
  }
  return all;
}

// step(step(first, 0), 1), ... for n steps, in which `all` is combined with another term.
template <class Operation, class T, class Step>
HWY_INLINE T reduce_steps(std::size_t n, T first, const Step& step) {
  const auto block = [&](T all, std::size_t begin, std::size_t end) DYNET_LIKE_BODY {
    for (std::size_t k = begin; k < end; ++k) all = step(all, k);
    return all;
  };
  return n <= kBlockSteps ? block(first, 0, n) : reduce_blocks<Operation>(n, first, block);
}

// One vector of n elements, along the lanes. A reduction is one of four vectors, then one across
// lanes.
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
    const Group<E> parts = reduce_steps<Operation>(
        n / Group<E>::size, Group<E>(neutral), [&](Group<E> all, std::size_t k) DYNET_LIKE_BODY {
          constexpr std::size_t kSize = Group<E>::size;
          return Operation::combine(all, f.template operator()<Group<E>>(k * kSize, kSize));
        });
    std::size_t at = n / Group<E>::size * Group<E>::size;
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
    return reduce_steps<Operation>(
        n - 1, f.template operator()<Lanes<E>>(0, count),
        [&](Lanes<E> all, std::size_t k) DYNET_LIKE_BODY {
          return Operation::combine(all, f.template operator()<Lanes<E>>((k + 1) * stride, count));
        });
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
    const T sum = reduce_steps<Sum>(axis.n, T(0), [&](T all, std::size_t k) DYNET_LIKE_BODY {
      return all + term(load_as<T>(from + k * axis.inner + at, count));
    });
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

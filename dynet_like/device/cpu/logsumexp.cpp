// Logarithms of sums of exponentials on the CPU. The maximum is subtracted first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/logsumexp.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/softmax-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"

#include <limits>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// A NaN counts as larger than every number.
struct MaximumOrNaN {
  static constexpr double neutral = -std::numeric_limits<double>::infinity();
  template <class T>
  static HWY_INLINE T combine(T a, T b) {
    return select(is_nan(a), a, max(a, b));
  }
  template <class E>
  static HWY_INLINE E across(Lanes<E> lanes) {
    return hn::AllFalse(typename Lanes<E>::Tag(), is_nan(lanes))
               ? lanes.max()
               : std::numeric_limits<E>::quiet_NaN();
  }
};

// If the largest element is infinite it is the result, since its difference to itself would be NaN.
// The gradient does not use the result, because a large maximum leaves it few digits. Elements of
// +infinity share the gradient. If all elements are -infinity, all gradients are 0.
struct LogSumExp {
  template <class E, class Along>
  static HWY_INLINE Lanes<E> value(const Along& along, const E* x) {
    const Total<E, MaximumOrNaN> total(along, x, nullptr);
    return select(is_infinite(total.top), total.top, total.top + log(total.sum));
  }
  // `parts` has room for as many elements as dx.
  template <class E, class Along>
  static HWY_INLINE void gradient(const Along& along, const E* x, Lanes<E> dy, E* parts, E* dx,
                                  bool add) {
    const Total<E, MaximumOrNaN> total(along, x, parts);
    const auto infinite = is_infinite(total.top);
    const auto part = [&]<class T>(std::size_t at, std::size_t count)
                          DYNET_LIKE_BODY { return load_as<T>(parts + at, count); };
    Lanes<E> sum = total.sum;
    if (!hn::AllFalse(typename Lanes<E>::Tag(), infinite)) {
      along.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
        for (std::size_t i = at; i < at + count; i += Lanes<E>::size) {
          const std::size_t n = HWY_MIN(Lanes<E>::size, at + count - i);
          const Lanes<E> each = load(x + i, n), one(1);
          const Lanes<E> share = select(each < infinity<E>(), one - one, one);
          store(select(infinite, share, load(parts + i, n)), parts + i, n);
        }
      });
      sum = along.template reduce<Sum>(part);
    }
    const Lanes<E> none = select(is_nan(total.top), total.top, Lanes<E>(0));
    const Lanes<E> factor = select(Lanes<E>(0) < sum, dy / sum, none);
    along.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      put(part.template operator()<T>(at, count) * T(factor), dx + at, count, add);
    });
  }

 private:
  template <class E>
  static HWY_INLINE Lanes<E> infinity() {
    return Lanes<E>(std::numeric_limits<double>::infinity());
  }
  template <class E>
  static HWY_INLINE typename Lanes<E>::Mask is_infinite(Lanes<E> x) {
    return hn::Eq(abs(x).v, infinity<E>().v);
  }
};

// The number of vectors that are computed at once.
template <class E>
HWY_INLINE std::size_t count_of(const Row<E>&) {
  return 1;
}
template <class E>
HWY_INLINE std::size_t count_of(const Columns<E>& columns) {
  return columns.count;
}

// Calls f(along, first element, number of the first result) for the vectors of an item that are not
// gathered.
template <class E, class F>
HWY_INLINE void for_lines_of(const Axis& axis, Layout layout, F&& f) {
  for (std::size_t o = 0; o < axis.outer; ++o) {
    const std::size_t start = o * axis.n * axis.inner, y = o * axis.inner;
    if (layout == Layout::rows) {
      f(Row<E>{axis.n}, start, y);
      continue;
    }
    for (std::size_t i = 0; i < axis.inner; i += Lanes<E>::size) {
      const std::size_t count = std::min(Lanes<E>::size, axis.inner - i);
      f(Columns<E>{axis.n, axis.inner, count}, start + i, y + i);
    }
  }
}

template <class E>
void logsumexp_forward(const ForwardCall& call) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const Layout layout = layout_of<E>(axis);
  const Gathered<E> vectors{axis.n, axis.inner};
  if (layout != Layout::gathered) {
    for (std::size_t i = 0; i < call.n; ++i) {
      const E* x = call.in[0].at<E>(i);
      E* const out = call.out.at<E>(i);
      for_lines_of<E>(axis, layout,
                      [&](const auto& along, std::size_t start, std::size_t y) DYNET_LIKE_BODY {
                        store(LogSumExp::value<E>(along, x + start), out + y, count_of(along));
                      });
    }
    return;
  }
  E* const buffer = call.workspace->elements<E>(axis.n * kLanes);
  const E* from[kLanes];
  E* to[kLanes];
  std::size_t count = 0;
  const auto run = [&]() DYNET_LIKE_BODY {
    vectors.gather(from, count, buffer);
    const Lanes<E> sums = LogSumExp::value<E>(vectors.columns(), buffer);
    if (call.out.items == nullptr) {
      store(sums, to[0], count);
    } else {
      sums.store(buffer);
      for (std::size_t lane = 0; lane < count; ++lane) *to[lane] = buffer[lane];
    }
    count = 0;
  };
  for (std::size_t i = 0; i < call.n; ++i) {
    E* out = call.out.at<E>(i);
    for_vectors(axis, [&](std::size_t start) DYNET_LIKE_BODY {
      to[count] = out++;
      from[count++] = call.in[0].at<E>(i) + start;
      if (count == kLanes) run();
    });
  }
  if (count > 0) run();
}

template <class E>
void logsumexp_backward(const BackwardCall& call) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const Layout layout = layout_of<E>(axis);
  if (layout != Layout::gathered) {
    E* const parts = call.workspace->elements<E>(call.type->inputs[0].size());
    for (std::size_t i = 0; i < call.n; ++i) {
      E* const dx = call.dx[0].at<E>(i);
      if (dx == nullptr) continue;
      const E *x = call.in[0].at<E>(i), *dy = call.dy.at<E>(i);
      for_lines_of<E>(axis, layout,
                      [&](const auto& along, std::size_t start, std::size_t y) DYNET_LIKE_BODY {
                        const std::size_t count = count_of(along);
                        const Lanes<E> slope =
                            count == 1 ? Lanes<E>(static_cast<double>(dy[y])) : load(dy + y, count);
                        LogSumExp::gradient<E>(along, x + start, slope, parts + start, dx + start,
                                               call.dx[0].add[i] != 0);
                      });
    }
    return;
  }
  const Gathered<E> vectors{axis.n, axis.inner};
  E *const x = call.workspace->elements<E>(2 * axis.n * kLanes), *const parts = x + axis.n * kLanes;
  alignas(64) E dy[kLanes] = {};
  const E* from[kLanes];
  E* to[kLanes];
  bool add[kLanes];
  std::size_t count = 0;
  const auto run = [&]() DYNET_LIKE_BODY {
    vectors.gather(from, count, x);
    LogSumExp::gradient<E>(vectors.columns(), x, Lanes<E>::load(dy), parts, x, false);
    for (std::size_t lane = 0; lane < count; ++lane) vectors.scatter(x, to[lane], lane, add[lane]);
    count = 0;
  };
  for (std::size_t i = 0; i < call.n; ++i) {
    E* const dx = call.dx[0].at<E>(i);
    if (dx == nullptr) continue;
    std::size_t y = 0;  // results are in the order of the vectors
    for_vectors(axis, [&](std::size_t start) DYNET_LIKE_BODY {
      from[count] = call.in[0].at<E>(i) + start;
      dy[count] = call.dy.at<E>(i)[y++];
      add[count] = call.dx[0].add[i] != 0;
      to[count++] = dx + start;
      if (count == kLanes) run();
    });
  }
  if (count > 0) run();
}

Kernels logsumexp_of_target() {
  return {{logsumexp_forward<float>, logsumexp_forward<double>},
          {logsumexp_backward<float>, logsumexp_backward<double>}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {
HWY_EXPORT(logsumexp_of_target);
Kernels cpu::logsumexp_kernels() { return HWY_DYNAMIC_DISPATCH(logsumexp_of_target)(); }
}  // namespace dynet_like::detail
#endif

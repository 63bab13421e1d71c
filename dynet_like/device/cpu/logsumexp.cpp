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

template <class E>
void logsumexp_forward(const ForwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const Layout layout = layout_of<E>(axis);
  const Gathered<E> gathered{axis.n, axis.inner};
  const bool gathers = layout == Layout::gathered;
  E* const buffer = gathers ? call.workspace->elements<E>(axis.n * Gathered<E>::size) : nullptr;
  const auto run = [&](const Vector<E>* vectors, std::size_t count) DYNET_LIKE_BODY {
    gathered.gather(vectors, 0, count, buffer);
    LogSumExp::value<E>(gathered.columns(), buffer).store(buffer);
    for (std::size_t lane = 0; lane < count; ++lane) *vectors[lane].to = buffer[lane];
  };
  LaneGroups<E, decltype(run)> groups(run);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* const x = call.in[0].at<E>(i);
    E* const out = call.out.at<E>(i);
    if (gathers) {
      for_vectors(axis, [&](std::size_t start, std::size_t line) DYNET_LIKE_BODY {
        groups.add({{x + start}, out + line, false});
      });
    } else {
      for_vectors_in_place<E>(
          axis, layout,
          [&](const auto& along, std::size_t start, std::size_t line) DYNET_LIKE_BODY {
            store(LogSumExp::value<E>(along, x + start), out + line, count_of(along));
          });
    }
  }
  groups.finish();
}

template <class E>
void logsumexp_backward(const BackwardCall& call) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const Layout layout = layout_of<E>(axis);
  const Gathered<E> gathered{axis.n, axis.inner};
  const bool gathers = layout == Layout::gathered;
  const std::size_t size = gathers ? axis.n * kLanes : call.type->inputs[0].size();
  E *const parts = call.workspace->elements<E>((gathers ? 2 : 1) * size), *const buffer =
                                                                              parts + size;
  const auto run = [&](const Vector<E>* vectors, std::size_t count) DYNET_LIKE_BODY {
    alignas(64) E dy[kLanes] = {};
    for (std::size_t lane = 0; lane < count; ++lane) dy[lane] = *vectors[lane].from[1];
    gathered.gather(vectors, 0, count, buffer);
    LogSumExp::gradient<E>(gathered.columns(), buffer, Lanes<E>::load(dy), parts, buffer, false);
    gathered.scatter(buffer, vectors, count);
  };
  LaneGroups<E, decltype(run)> groups(run);
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) DYNET_LIKE_BODY {
    const E *const x = call.in[0].at<E>(i), *const dy = call.dy.at<E>(i);
    if (gathers) {
      for_vectors(axis, [&](std::size_t start, std::size_t line) DYNET_LIKE_BODY {
        groups.add({{x + start, dy + line}, dx + start, add});
      });
    } else {
      for_vectors_in_place<E>(
          axis, layout,
          [&](const auto& along, std::size_t start, std::size_t line) DYNET_LIKE_BODY {
            const std::size_t count = count_of(along);
            const Lanes<E> slope =
                count == 1 ? Lanes<E>(static_cast<double>(dy[line])) : load(dy + line, count);
            LogSumExp::gradient<E>(along, x + start, slope, parts + start, dx + start, add);
          });
    }
  });
  groups.finish();
}

Kernels logsumexp_of_target() { return DYNET_LIKE_KERNELS(logsumexp_forward, logsumexp_backward); }

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {
HWY_EXPORT(logsumexp_of_target);
Kernels cpu::logsumexp_kernels() { return HWY_DYNAMIC_DISPATCH(logsumexp_of_target)(); }
}  // namespace dynet_like::detail
#endif

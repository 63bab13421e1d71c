// Softmax, log-softmax and their loss on the CPU: two passes. The maximum is subtracted first.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/softmax.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/softmax-inl.h"
#include "dynet_like/device/cpu/column_sums.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/softmax_items.h"

#include <algorithm>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

struct Softmax {
  template <class E, class Along>
  static HWY_INLINE void value(const Along& along, const E* x, E* y) {
    const Lanes<E> factor = Lanes<E>(1) / Total<E>(along, x, y).sum;
    along.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      store(load_as<T>(y + at, count) * T(factor), y + at, count);
    });
  }
  // dx = y (dy - sum y dy)
  template <class E, class Along>
  static HWY_INLINE void gradient(const Along& along, const E* y, const E* dy, E* dx, bool add) {
    const auto product = [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      return load_as<T>(y + at, count) * load_as<T>(dy + at, count);
    };
    const Lanes<E> mean = along.template reduce<Sum>(product);
    along.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      put(load_as<T>(y + at, count) * (load_as<T>(dy + at, count) - T(mean)), dx + at, count, add);
    });
  }
};

struct LogSoftmax {
  template <class E, class Along>
  static HWY_INLINE void value(const Along& along, const E* x, E* y) {
    const Total<E> total(along, x, nullptr);
    const Lanes<E> log_sum = log(total.sum);
    along.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      store((load_as<T>(x + at, count) - T(total.top)) - T(log_sum), y + at, count);
    });
  }
  // dx = dy - e^y sum dy
  template <class E, class Along>
  static HWY_INLINE void gradient(const Along& along, const E* y, const E* dy, E* dx, bool add) {
    const auto load_dy = [&]<class T>(std::size_t at, std::size_t count)
                             DYNET_LIKE_BODY { return load_as<T>(dy + at, count); };
    const Lanes<E> sum = along.template reduce<Sum>(load_dy);
    along.each([&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      const T part = exp_of_negative(load_as<T>(y + at, count)) * T(sum);
      put(load_as<T>(dy + at, count) - part, dx + at, count, add);
    });
  }
};

template <class F, class E>
void along_forward(const ForwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const Layout layout = layout_of<E>(axis);
  const Gathered<E> gathered{axis.n, axis.inner};
  const bool gathers = layout == Layout::gathered;
  E* const buffer = gathers ? call.workspace->elements<E>(axis.n * Gathered<E>::size) : nullptr;
  const auto run = [&](const Vector<E>* vectors, std::size_t count) DYNET_LIKE_BODY {
    gathered.gather(vectors, 0, count, buffer);
    F::template value<E>(gathered.columns(), buffer, buffer);
    gathered.scatter(buffer, vectors, count);
  };
  LaneGroups<E, decltype(run)> groups(run);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* const x = call.in[0].at<E>(i);
    E* const y = call.out.at<E>(i);
    if (gathers) {
      for_vectors(axis, [&](std::size_t start, std::size_t) DYNET_LIKE_BODY {
        groups.add({{x + start}, y + start, false});
      });
    } else {
      for_vectors_in_place<E>(
          axis, layout, [&](const auto& along, std::size_t start, std::size_t) DYNET_LIKE_BODY {
            F::template value<E>(along, x + start, y + start);
          });
    }
  }
  groups.finish();
}

template <class F, class E>
void along_backward(const BackwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const Layout layout = layout_of<E>(axis);
  const Gathered<E> gathered{axis.n, axis.inner};
  const bool gathers = layout == Layout::gathered;
  const std::size_t size = axis.n * Gathered<E>::size;
  E* const buffer = gathers ? call.workspace->elements<E>(2 * size) : nullptr;
  const auto run = [&](const Vector<E>* vectors, std::size_t count) DYNET_LIKE_BODY {
    gathered.gather(vectors, 0, count, buffer);
    gathered.gather(vectors, 1, count, buffer + size);
    F::template gradient<E>(gathered.columns(), buffer, buffer + size, buffer + size, false);
    gathered.scatter(buffer + size, vectors, count);
  };
  LaneGroups<E, decltype(run)> groups(run);
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) DYNET_LIKE_BODY {
    const E *const y = call.out.at<E>(i), *const dy = call.dy.at<E>(i);
    if (gathers) {
      for_vectors(axis, [&](std::size_t start, std::size_t) DYNET_LIKE_BODY {
        groups.add({{y + start, dy + start}, dx + start, add});
      });
    } else {
      for_vectors_in_place<E>(
          axis, layout, [&](const auto& along, std::size_t start, std::size_t) DYNET_LIKE_BODY {
            F::template gradient<E>(along, y + start, dy + start, dx + start, add);
          });
    }
  });
  groups.finish();
}

// Writes the first `count` numbers, one to each item from `first` on.
template <class E>
HWY_INLINE void put_numbers(Lanes<E> numbers, const Output& out, std::size_t first,
                            std::size_t count) {
  if (out.items == nullptr) return store(numbers, out.at<E>(first), count);
  alignas(64) E list[Lanes<E>::size];
  numbers.store(list);
  for (std::size_t k = 0; k < count; ++k) *out.at<E>(first + k) = list[k];
}

// The loss saves the maximum and log sum e^(x - maximum) separately for the gradient, because their
// sum would keep few digits of a small logarithm. Logarithms are computed for as many items at a
// time as there are lanes.
template <class E>
void loss_forward(const ForwardCall& call) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const std::size_t n = call.type->inputs[0].size();
  const bool few = n <= few_classes<E>;
  alignas(64) E top[kLanes], sum[kLanes], chosen[kLanes];
  E* buffer = few ? call.workspace->elements<E>(n * kLanes) : nullptr;
  const Gathered<E> vectors{n, 1};
  for (std::size_t i = 0; i < call.n; i += kLanes) {
    const std::size_t count = std::min(kLanes, call.n - i);
    const E* x[kLanes];
    for (std::size_t k = 0; k < count; ++k) {
      x[k] = call.in[0].at<E>(i + k);
      chosen[k] = x[k][call.integers[i + k]];
    }
    if (few) {
      vectors.gather(count, buffer, [&](std::size_t k) { return x[k]; });
      const Total<E> total(vectors.columns(), buffer, nullptr);
      total.top.store(top);
      total.sum.store(sum);
    }
    for (std::size_t k = 0; !few && k < count; ++k) {
      const Total<E> total(Row<E>{n}, x[k], nullptr);
      top[k] = hn::GetLane(total.top.v);
      sum[k] = hn::GetLane(total.sum.v);
    }
    const Lanes<E> log_sum = log(load(sum, count));
    const Lanes<E> loss = (load(top, count) - load(chosen, count)) + log_sum;
    put_numbers(loss, call.out, i, count);
    if (call.saved == nullptr) continue;
    log_sum.store(sum);
    E* saved = static_cast<E*>(call.saved) + 2 * i;
    for (std::size_t k = 0; k < count; ++k) {
      *saved++ = top[k];
      *saved++ = sum[k];
    }
  }
}

// dx[k] = dy e^((x[k] - maximum) - log sum) - [k = class] dy
template <class E>
void loss_backward(const BackwardCall& call) {
  constexpr std::size_t kLanes = Lanes<E>::size;
  const std::size_t n = call.type->inputs[0].size();
  const hn::Vec<typename Lanes<E>::Tag> numbers = hn::Iota(typename Lanes<E>::Tag(), 0);
  for_gradients<E>(call, 0, [&](std::size_t i, E* dx, bool add) DYNET_LIKE_BODY {
    const E* x = call.in[0].at<E>(i);
    const double dy = static_cast<double>(*call.dy.at<E>(i));
    const E* saved = call.saved.at<E>(i);
    const double top = static_cast<double>(saved[0]), log_sum = static_cast<double>(saved[1]);
    const auto part = [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      return exp_of_negative((load_as<T>(x + at, count) - T(top)) - T(log_sum)) * T(dy);
    };
    const auto put_parts = [&](std::size_t begin, std::size_t end) DYNET_LIKE_BODY {
      for_groups<E>(end - begin, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
        put(part.template operator()<T>(begin + at, count), dx + begin + at, count, add);
      });
    };
    // First the elements before the vector with the class in it, then that vector, then the rest.
    const std::size_t lane = call.integers[i] % kLanes, begin = call.integers[i] - lane;
    const std::size_t end = std::min(begin + kLanes, n);
    put_parts(0, begin);
    const auto is_class = hn::Eq(numbers, Lanes<E>(static_cast<double>(lane)).v);
    const Lanes<E> target(hn::IfThenElseZero(is_class, Lanes<E>(dy).v));
    put(part.template operator()<Lanes<E>>(begin, end - begin) - target, dx + begin, end - begin,
        add);
    put_parts(end, n);
  });
}

// Calls f(along, start) for the softmax along n columns of `rows` elements.
template <class E, class F>
HWY_INLINE void along_columns(std::size_t rows, std::size_t n, F&& f) {
  if (rows == 1) return f(Row<E>{n}, std::size_t{0});
  for (std::size_t r = 0; r < rows; r += Lanes<E>::size) {
    f(Columns<E>{n, rows, std::min(Lanes<E>::size, rows - r)}, r);
  }
}

template <class E>
void columns_of_softmax(const E* x, std::size_t rows, std::size_t n, E* y) {
  along_columns<E>(rows, n, [&](const auto& along, std::size_t start) DYNET_LIKE_BODY {
    Softmax::value<E>(along, x + start, y + start);
  });
}

template <class E>
void segments_forward(const ForwardCall& call) {
  const std::size_t rows = call.type->output_size;
  for (std::size_t i = 0, end = 0; i < call.n; i = end) {
    end = cpu::end_of_softmax(call, i);
    const cpu::SoftmaxItem first(call.integers, i);
    const E* const x = call.in[0].at<E>(i) + first.begin * rows;
    const auto place = [&](std::size_t k) {
      return cpu::SoftmaxItem(call.integers, k).own - first.begin;
    };
    bool in_order = end - i == first.size();  // and their destinations are consecutive
    for (std::size_t k = i; k < end && in_order; ++k) {
      in_order = place(k) == k - i && (k == i || goes_on<E>(call.out, k - 1, rows));
    }
    if (in_order) {
      columns_of_softmax(x, rows, first.size(), call.out.at<E>(i));
      continue;
    }
    E* const y = call.workspace->elements<E>(first.size() * rows);
    columns_of_softmax(x, rows, first.size(), y);
    for (std::size_t k = i; k < end; ++k) {
      std::copy_n(y + place(k) * rows, rows, call.out.at<E>(k));
    }
  }
}

// The first item of each softmax computes the contributions of all its items.
template <class E>
void segments_backward(const BackwardCall& call) {
  if (!call.dx[0].wanted()) return;
  const std::size_t rows = call.type->output_size;
  std::size_t next = 0;
  cpu::put_sums<E>(call, [&](std::size_t i, E* sums) {
    if (i < next) return;
    next = cpu::end_of_softmax(call, i);
    const cpu::SoftmaxItem first(call.integers, i);
    const std::size_t size = first.size() * rows;
    E* const y = call.workspace->elements<E>(2 * size);
    E* const dy = y + size;
    std::fill_n(dy, size, E(0));
    for (std::size_t k = i; k < next; ++k) {
      const std::size_t own = cpu::SoftmaxItem(call.integers, k).own - first.begin;
      cpu::add_column(call.dy.at<E>(k), rows, dy + own * rows);
    }
    columns_of_softmax(call.in[0].at<E>(i) + first.begin * rows, rows, first.size(), y);
    E* const dx = sums + first.begin * rows;
    along_columns<E>(rows, first.size(), [&](const auto& along, std::size_t r) DYNET_LIKE_BODY {
      Softmax::gradient<E>(along, y + r, dy + r, dx + r, true);
    });
  });
}

template <class F>
constexpr Kernels along_kernels() {
  return {{along_forward<F, float>, along_forward<F, double>},
          {along_backward<F, float>, along_backward<F, double>}};
}

std::vector<KernelEntry> softmax_kernels() {
  return {{"softmax", along_kernels<Softmax>()},
          {"log_softmax", along_kernels<LogSoftmax>()},
          {"cross_entropy", DYNET_LIKE_KERNELS(loss_forward, loss_backward)},
          {"segment_softmax", DYNET_LIKE_KERNELS(segments_forward, segments_backward)}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

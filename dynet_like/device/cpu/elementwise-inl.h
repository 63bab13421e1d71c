// Elementwise kernels: any formula over SIMD lanes. Items whose elements all lie one behind the
// other are one stretch of elements; dimensions of size 1 that are stretched have their own
// kernels. Included once per target, like lanes-inl.h.

#if defined(DYNET_LIKE_ELEMENTWISE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_ELEMENTWISE_INL
#undef DYNET_LIKE_ELEMENTWISE_INL
#else
#define DYNET_LIKE_ELEMENTWISE_INL
#endif

#include <cstring>
#include <vector>

#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/math-inl.h"
#include "dynet_like/device/cpu/runs.h"
#include "dynet_like/ops/elementwise.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

using cpu::Runs;

template <class F>
inline constexpr bool uses_inputs =
    F::needs == Needs::inputs || F::needs == Needs::inputs_and_output;
template <class F>
inline constexpr bool uses_output =
    F::needs == Needs::output || F::needs == Needs::inputs_and_output;

template <class F, class T>
HWY_INLINE T value(T a, T b, T real) {
  if constexpr (F::inputs == 2) {
    return F::value(a, b);
  } else if constexpr (F::reals == 1) {
    return F::value(a, real);
  } else {
    return F::value(a);
  }
}

template <class F, unsigned j, class T>
HWY_INLINE T slope(T a, T b, T y, T real) {
  if constexpr (F::inputs == 2 && j == 0) {
    return F::slope_0(a, b, y);
  } else if constexpr (F::inputs == 2) {
    return F::slope_1(a, b, y);
  } else if constexpr (F::reals == 1) {
    return F::slope_0(a, y, real);
  } else {
    return F::slope_0(a, y);
  }
}

// The real number of item i, or zero for formulas without one.
template <class F, class E>
HWY_INLINE double real_of(const void* reals, std::size_t i) {
  return F::reals == 0 ? 0.0 : static_cast<double>(static_cast<const E*>(reals)[i]);
}

// Whether item i + 1 has the same real number as item i (-0 is not 0).
template <class F, class E>
HWY_INLINE bool same_real(const void* reals, std::size_t i) {
  if constexpr (F::reals == 0) return true;
  const E* real = static_cast<const E*>(reals) + i;
  return std::memcmp(real, real + 1, sizeof(E)) == 0;
}

// Where an operand's elements at `at` come from: its own, or the one that it stands at.
template <class E>
HWY_INLINE Lanes<E> operand(const E* from, bool advances, std::size_t at, std::size_t count) {
  return advances ? load(from + at, count) : Lanes<E>(static_cast<double>(*from));
}

template <class F, class E>
void stretched_forward(const ForwardCall& call) {
  const Runs first(*call.type);
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    Runs runs = first;
    for (std::size_t run = 0; run < runs.count; ++run, runs.next(), out += runs.length) {
      const E* a = call.in[0].at<E>(i) + runs.offset[0];
      const E* b = call.in[1].at<E>(i) + runs.offset[1];
      for_lanes<E>(runs.length, [&](std::size_t at, std::size_t count) DYNET_LIKE_BODY {
        store(F::value(operand(a, runs.advances[0], at, count),
                       operand(b, runs.advances[1], at, count)),
              out + at, count);
      });
    }
  }
}

template <class F, class E>
void forward(const ForwardCall& call) {
  if constexpr (F::inputs == 2) {
    if (cpu::stretches(*call.type)) return stretched_forward<F, E>(call);
  }
  constexpr unsigned kLast = F::inputs - 1;
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0, end; i < call.n; i = end) {
    const E *a = call.in[0].at<E>(i), *b = call.in[kLast].at<E>(i);
    for (end = i + 1; end < call.n; ++end) {
      if (!goes_on<E>(call.in[0], end - 1, size) || !goes_on<E>(call.in[kLast], end - 1, size) ||
          !same_real<F, E>(call.reals, end - 1)) {
        break;
      }
    }
    E* y = static_cast<E*>(call.out) + i * size;
    const double real = real_of<F, E>(call.reals, i);
    for_groups<E>((end - i) * size, [&]<class T>(std::size_t at,
                                                 std::size_t count) DYNET_LIKE_BODY {
      store(value<F>(load_as<T>(a + at, count), load_as<T>(b + at, count), T(real)), y + at, count);
    });
  }
}

// What the gradients of some items are computed from; what the formula does not need is null.
template <class F, unsigned j, class E>
struct Slopes {
  static constexpr unsigned kLast = F::inputs - 1;
  const E *a = nullptr, *b = nullptr, *y = nullptr, *dy;
  double real;

  HWY_INLINE Slopes(const BackwardCall& call, std::size_t i)
      : dy(call.dy.at<E>(i)), real(real_of<F, E>(call.reals, i)) {
    if (uses_inputs<F>) a = call.in[0].at<E>(i);
    if (uses_inputs<F>) b = call.in[kLast].template at<E>(i);
    if (uses_output<F>) y = call.out.at<E>(i);
  }
  // Whether the next item goes on with the elements of this one.
  static HWY_INLINE bool go_on(const BackwardCall& call, std::size_t i, std::size_t size) {
    return goes_on<E>(call.dy, i, size) && same_real<F, E>(call.reals, i) &&
           (!uses_inputs<F> ||
            (goes_on<E>(call.in[0], i, size) && goes_on<E>(call.in[kLast], i, size))) &&
           (!uses_output<F> || goes_on<E>(call.out, i, size));
  }
  // dy * dout/dx.
  template <class T>
  HWY_INLINE T gradient(std::size_t at, std::size_t count) const {
    const T zero(0);
    return gradient<T>(at, count, uses_inputs<F> ? load_as<T>(a + at, count) : zero,
                       uses_inputs<F> ? load_as<T>(b + at, count) : zero);
  }
  template <class T>
  HWY_INLINE T gradient(std::size_t at, std::size_t count, T va, T vb) const {
    const T vy = uses_output<F> ? load_as<T>(y + at, count) : T(0);
    return load_as<T>(dy + at, count) * slope<F, j>(va, vb, vy, T(real));
  }
};

// The gradients of one run go to `to`; without a place they are summed.
template <class F, unsigned j, class E>
HWY_INLINE E run_gradient(const Slopes<F, j, E>& slopes, const Runs& runs, E* to, bool add) {
  Lanes<E> total(0);
  for_lanes<E>(runs.length, [&](std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    Lanes<E> a(0), b(0);
    if (uses_inputs<F>) a = operand(slopes.a, runs.advances[0], at, count);
    if (uses_inputs<F>) b = operand(slopes.b, runs.advances[1], at, count);
    const Lanes<E> gradient = slopes.template gradient<Lanes<E>>(at, count, a, b);
    if (to != nullptr) {
      put(gradient, to + at, count, add);
    } else {
      total = total + Lanes<E>(hn::IfThenElseZero(Lanes<E>::first(count), gradient.v));
    }
  });
  return total.sum();
}

// A stretched operand gets the sum over the elements that it was stretched to, in their order.
template <class F, unsigned j, class E>
void stretched_gradient(const BackwardCall& call) {
  const Runs first(*call.type);
  const std::size_t size = call.type->inputs[j].size();
  const bool is_sum = size != call.type->output_size;
  E* sums = is_sum ? call.workspace->elements<E>(size) : nullptr;
  for (std::size_t i = 0; i < call.n; ++i) {
    E* dx = call.dx[j].at<E>(i);
    if (dx == nullptr) continue;
    const bool add = call.dx[j].add[i] != 0;
    if (is_sum) std::memset(sums, 0, size * sizeof(E));
    const Slopes<F, j, E> item(call, i);
    Runs runs = first;
    for (std::size_t run = 0; run < runs.count; ++run, runs.next()) {
      Slopes<F, j, E> slopes = item;
      slopes.dy += run * runs.length;
      if (uses_output<F>) slopes.y += run * runs.length;
      if (uses_inputs<F>) slopes.a += runs.offset[0];
      if (uses_inputs<F>) slopes.b += runs.offset[1];
      if (!is_sum) {
        run_gradient<F, j, E>(slopes, runs, dx + run * runs.length, add);
      } else if (runs.advances[j]) {
        run_gradient<F, j, E>(slopes, runs, sums + runs.offset[j], true);
      } else {
        sums[runs.offset[j]] += run_gradient<F, j, E>(slopes, runs, nullptr, false);
      }
    }
    if (is_sum) put_elements(sums, dx, size, add);
  }
}

template <class F, unsigned j, class E>
void gradient(const BackwardCall& call) {
  const Destination& dx = call.dx[j];
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0, end; i < call.n; i = end) {
    E* to = dx.at<E>(i);
    const bool add = dx.add[i] != 0;
    end = i + 1;
    if (to == nullptr) continue;
    while (end < call.n && goes_on<E>(dx, end - 1, size) &&
           Slopes<F, j, E>::go_on(call, end - 1, size)) {
      ++end;
    }
    const Slopes<F, j, E> slopes(call, i);
    put_groups((end - i) * size, to, add,
               [&]<class T>(std::size_t at, std::size_t count)
                   DYNET_LIKE_BODY { return slopes.template gradient<T>(at, count); });
  }
}

template <class F, unsigned j, class E>
void gradient_of(const BackwardCall& call) {
  if (!call.dx[j].wanted()) return;
  if constexpr (F::inputs == 2) {
    if (cpu::stretches(*call.type)) return stretched_gradient<F, j, E>(call);
  }
  gradient<F, j, E>(call);
}

template <class F, class E>
void backward(const BackwardCall& call) {
  gradient_of<F, 0, E>(call);
  if constexpr (F::inputs == 2) gradient_of<F, 1, E>(call);
}

template <class F>
cpu::KernelEntry kernel_entry() {
  return {F::name,
          {{forward<F, float>, forward<F, double>}, {backward<F, float>, backward<F, double>}}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// Sums on the CPU: over inputs, and along a dimension.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/reductions.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/lanes-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

template <class E>
HWY_INLINE Lanes<E> times_if(Lanes<E> lanes, bool average, double count) {
  return average ? lanes / Lanes<E>(count) : lanes;
}

// x1 + x2 + ... from left to right; the average divides at the end.
template <class E, bool average>
void sum_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size, inputs = call.type->inputs.size();
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += size) {
    for_lanes<E>(size, [&](std::size_t at, std::size_t count) HWY_ATTR {
      Lanes<E> total = load(call.in[0].at<E>(i) + at, count);
      for (std::size_t j = 1; j < inputs; ++j) {
        total = total + load(call.in[j].at<E>(i) + at, count);
      }
      store(times_if(total, average, static_cast<double>(inputs)), out + at, count);
    });
  }
}

template <class E, bool average>
void sum_backward(const BackwardCall& call) {
  const std::size_t inputs = call.type->inputs.size();
  for (std::size_t j = 0; j < inputs; ++j) {
    for (std::size_t i = 0; call.dx[j].wanted() && i < call.n; ++i) {
      E* to = call.dx[j].at<E>(i);
      if (to == nullptr) continue;
      const E* dy = call.dy.at<E>(i);
      for_lanes<E>(call.type->output_size, [&](std::size_t at, std::size_t count) HWY_ATTR {
        put(times_if(load(dy + at, count), average, static_cast<double>(inputs)), to + at, count,
            call.dx[j].add[i] != 0);
      });
    }
  }
}

// One vector's sum: a chain of vectors, then their lanes in fixed order.
template <class E>
HWY_INLINE E sum_of(const E* from, std::size_t n) {
  Lanes<E> total(0.0);
  for_lanes<E>(n, [&](std::size_t at, std::size_t count)
                      HWY_ATTR { total = total + load(from + at, count); });
  return total.sum();
}

template <class E, bool average>
void reduce_forward(const ForwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const double n = static_cast<double>(axis.n);
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* from = call.in[0].at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, from += axis.n * axis.inner, out += axis.inner) {
      if (axis.inner == 1) {
        const E total = sum_of(from, axis.n);
        *out = average ? total / static_cast<E>(n) : total;
        continue;
      }
      for_lanes<E>(axis.inner, [&](std::size_t at, std::size_t count) HWY_ATTR {
        Lanes<E> total(0.0);
        for (std::size_t k = 0; k < axis.n; ++k) {
          total = total + load(from + k * axis.inner + at, count);
        }
        store(times_if(total, average, n), out + at, count);
      });
    }
  }
}

template <class E, bool average>
void reduce_backward(const BackwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const double n = static_cast<double>(axis.n);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    const bool add = call.dx[0].add[i] != 0;
    const E* dy = call.dy.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, dy += axis.inner) {
      if (axis.inner == 1) {
        const Lanes<E> all = times_if(Lanes<E>(static_cast<double>(*dy)), average, n);
        for_lanes<E>(axis.n, [&](std::size_t at, std::size_t count)
                                 HWY_ATTR { put(all, to + o * axis.n + at, count, add); });
        continue;
      }
      for (std::size_t k = 0; k < axis.n; ++k) {
        E* row = to + (o * axis.n + k) * axis.inner;
        for_lanes<E>(axis.inner, [&](std::size_t at, std::size_t count) HWY_ATTR {
          put(times_if(load(dy + at, count), average, n), row + at, count, add);
        });
      }
    }
  }
}

std::span<const cpu::KernelEntry> reduction_table() {
  static const cpu::KernelEntry table[] = {
      {"sum",
       {{sum_forward<float, false>, sum_forward<double, false>},
        {sum_backward<float, false>, sum_backward<double, false>}}},
      {"average",
       {{sum_forward<float, true>, sum_forward<double, true>},
        {sum_backward<float, true>, sum_backward<double, true>}}},
      {"sum_dim",
       {{reduce_forward<float, false>, reduce_forward<double, false>},
        {reduce_backward<float, false>, reduce_backward<double, false>}}},
      {"mean_dim",
       {{reduce_forward<float, true>, reduce_forward<double, true>},
        {reduce_backward<float, true>, reduce_backward<double, true>}}}};
  return table;
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {
HWY_EXPORT(reduction_table);
std::span<const cpu::KernelEntry> cpu::reduction_kernels() {
  return HWY_DYNAMIC_DISPATCH(reduction_table)();
}
}  // namespace dynet_like
#endif

// Sums on the CPU: over inputs, and along a dimension.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/reductions.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// x1 + x2 + ... from left to right; the average divides at the end.
template <class E, bool average>
void sum_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size, inputs = call.type->inputs.size();
  const auto all_go_on = [&](std::size_t i) {
    for (std::size_t j = 0; j < inputs; ++j) {
      if (!goes_on<E>(call.in[j], i, size)) return false;
    }
    return goes_on<E>(call.out, i, size);
  };
  for (std::size_t i = 0, end; i < call.n; i = end) {
    E* const out = call.out.at<E>(i);
    end = i + 1;
    while (end < call.n && all_go_on(end - 1)) ++end;
    if ((end - i) * size == 1) {  // a single number, such as a loss: a vector would cost more
      E total = *call.in[0].at<E>(i);
      for (std::size_t j = 1; j < inputs; ++j) total += *call.in[j].at<E>(i);
      *out = sum_or_mean<average>(total, inputs);
      continue;
    }
    for_groups<E>((end - i) * size,
                  [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
                    T total = load_as<T>(call.in[0].at<E>(i) + at, count);
                    for (std::size_t j = 1; j < inputs; ++j) {
                      total = total + load_as<T>(call.in[j].at<E>(i) + at, count);
                    }
                    store(sum_or_mean<average>(total, inputs), out + at, count);
                  });
  }
}

template <class E, bool average>
void sum_backward(const BackwardCall& call) {
  const std::size_t size = call.type->output_size, inputs = call.type->inputs.size();
  for (std::size_t j = 0; j < inputs; ++j) {
    const Destination& dx = call.dx[j];
    for (std::size_t i = 0, end; dx.wanted() && i < call.n; i = end) {
      E* to = dx.at<E>(i);
      end = i + 1;
      if (to == nullptr) continue;
      while (end < call.n && goes_on<E>(dx, end - 1, size) && goes_on<E>(call.dy, end - 1, size)) {
        ++end;
      }
      const E* dy = call.dy.at<E>(i);
      const bool add = dx.add[i] != 0;
      if ((end - i) * size == 1) {
        put(sum_or_mean<average>(*dy, inputs), to, add);
        continue;
      }
      put_groups((end - i) * size, to, add,
                 [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
                   return sum_or_mean<average>(load_as<T>(dy + at, count), inputs);
                 });
    }
  }
}

template <class E, bool average>
void reduce_forward(const ForwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  for_lines<E>(call, axis, [&](const E* from, E* out) DYNET_LIKE_BODY {
    sum_lines(
        axis, from, out, [](auto x) DYNET_LIKE_BODY { return x; },
        [&](auto sum) DYNET_LIKE_BODY { return sum_or_mean<average>(sum, axis.n); });
  });
}

template <class E, bool average>
void reduce_backward(const BackwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  for_gradients<E>(call, 0, [&](std::size_t i, E* to, bool add) DYNET_LIKE_BODY {
    const E* dy = call.dy.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, dy += axis.inner, to += axis.n * axis.inner) {
      if (axis.inner == 1) {
        const Lanes<E> part(static_cast<double>(sum_or_mean<average>(*dy, axis.n)));
        put_groups(axis.n, to, add,
                   [&]<class T>(std::size_t, std::size_t) DYNET_LIKE_BODY { return T(part); });
        continue;
      }
      for_groups<E>(axis.inner, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
        const T part = sum_or_mean<average>(load_as<T>(dy + at, count), axis.n);
        for (std::size_t k = 0; k < axis.n; ++k) put(part, to + k * axis.inner + at, count, add);
      });
    }
  });
}

std::vector<KernelEntry> reduction_kernels() {
  return {{"sum", DYNET_LIKE_KERNELS(sum_forward, sum_backward, false)},
          {"average", DYNET_LIKE_KERNELS(sum_forward, sum_backward, true)},
          {"sum_dim", DYNET_LIKE_KERNELS(reduce_forward, reduce_backward, false)},
          {"mean_dim", DYNET_LIKE_KERNELS(reduce_forward, reduce_backward, true)}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Inner products and squared distances: one number per item.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/inner_products.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// The sum of f(at, count, sum) over n elements, which adds to the sum: four vectors at once, then a
// sum in fixed order.
template <class E, class F>
HWY_INLINE E sum_of_terms(std::size_t n, const F& f) {
  constexpr std::size_t kLanes = Lanes<E>::size, kSize = Group<E>::size;
  const auto add_group = [&](Group<E> sum, std::size_t k) DYNET_LIKE_BODY {
    for (std::size_t v = 0; v < Group<E>::count; ++v) {
      sum.part[v] = f(k * kSize + v * kLanes, kLanes, sum.part[v]);
    }
    return sum;
  };
  Group<E> sum = reduce_steps<Sum>(n / kSize, Group<E>(0.0), add_group);
  for (std::size_t at = n / kSize * kSize; at < n; at += kLanes) {
    sum.part[0] = f(at, HWY_MIN(kLanes, n - at), sum.part[0]);
  }
  return ((sum.part[0] + sum.part[1]) + (sum.part[2] + sum.part[3])).sum();
}

template <class E>
HWY_INLINE E inner_product(const E* a, const E* b, std::size_t n) {
  return sum_of_terms<E>(n, [&](std::size_t at, std::size_t count, Lanes<E> sum) DYNET_LIKE_BODY {
    return fused(load(a + at, count), load(b + at, count), sum);
  });
}

template <class E>
void dot_product_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    *call.out.at<E>(i) =
        inner_product(call.in[0].at<E>(i), call.in[1].at<E>(i), call.type->inputs[0].size());
  }
}

template <class E>
void dot_product_backward(const BackwardCall& call) {
  for (const std::size_t j : {0, 1}) {
    for_gradients<E>(call, j, [&](std::size_t i, E* to, bool add) DYNET_LIKE_BODY {
      const Lanes<E> dy(static_cast<double>(*call.dy.at<E>(i)));
      const E* other = call.in[1 - j].at<E>(i);
      for_lanes<E>(call.type->inputs[0].size(), [&](std::size_t at, std::size_t count) HWY_ATTR {
        put(load(other + at, count) * dy, to + at, count, add);
      });
    });
  }
}

template <class E>
void squared_distance_forward(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    const E *a = call.in[0].at<E>(i), *b = call.in[1].at<E>(i);
    const auto term = [&](std::size_t at, std::size_t count, Lanes<E> sum) DYNET_LIKE_BODY {
      const Lanes<E> difference = load(a + at, count) - load(b + at, count);
      return fused(difference, difference, sum);
    };
    *call.out.at<E>(i) = sum_of_terms<E>(call.type->inputs[0].size(), term);
  }
}

template <class E>
void squared_distance_backward(const BackwardCall& call) {
  for (const std::size_t j : {0, 1}) {
    for_gradients<E>(call, j, [&](std::size_t i, E* to, bool add) DYNET_LIKE_BODY {
      const Lanes<E> dy(2.0 * static_cast<double>(*call.dy.at<E>(i)));
      const E *x = call.in[j].at<E>(i), *other = call.in[1 - j].at<E>(i);
      for_lanes<E>(call.type->inputs[0].size(), [&](std::size_t at, std::size_t count) HWY_ATTR {
        put((load(x + at, count) - load(other + at, count)) * dy, to + at, count, add);
      });
    });
  }
}

std::vector<KernelEntry> inner_product_kernels() {
  return {{"dot_product", DYNET_LIKE_KERNELS(dot_product_forward, dot_product_backward)},
          {"squared_distance",
           DYNET_LIKE_KERNELS(squared_distance_forward, squared_distance_backward)}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

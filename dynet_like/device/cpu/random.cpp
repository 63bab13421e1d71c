// Kernels that draw random numbers. Element e of an item is made from word e of those that the
// item's integers name, so it does not depend on the batch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/random.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/core/philox.h"
#include "dynet_like/device/cpu/dropout-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/ops/draws.h"

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

template <class Distribution, class E>
void draw(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    E* const out = call.out.at<E>(i);
    const std::uint32_t* integers = call.integers + kRandomIntegers * i;
    const E* reals = static_cast<const E*>(call.reals) + 2 * i;
    draws::Words block{};
    for (std::size_t e = 0; e < size; ++e) {
      const std::size_t word = integers[3] + e;
      if (e == 0 || word % 4 == 0) block = random_block(integers, word / 4);
      out[e] = static_cast<E>(Distribution::draw(block, static_cast<unsigned>(word % 4),
                                                 static_cast<double>(reals[0]),
                                                 static_cast<double>(reals[1])));
    }
  }
}

template <class Distribution>
Kernels source_kernels() {
  return {{draw<Distribution, float>, draw<Distribution, double>}, {}};
}

template <class E>
void dropout_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    drop(call.integers + kRandomIntegers * i, static_cast<const E*>(call.reals)[i],
         call.in[0].at<E>(i), call.out.at<E>(i), size, false);
  }
}

template <class E>
void dropout_backward(const BackwardCall& call) {
  for_gradients<E>(call, 0, [&](std::size_t i, E* to, bool add) DYNET_LIKE_BODY {
    drop(call.integers + kRandomIntegers * i, static_cast<const E*>(call.reals)[i],
         call.dy.at<E>(i), to, call.type->output_size, add);
  });
}

std::vector<KernelEntry> random_kernels() {
  return {{"random_uniform", source_kernels<draws::Uniform>()},
          {"random_normal", source_kernels<draws::Normal>()},
          {"random_bernoulli", source_kernels<draws::Bernoulli>()},
          {"random_gumbel", source_kernels<draws::Gumbel>()},
          {"dropout", DYNET_LIKE_KERNELS(dropout_forward, dropout_backward)}};
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

// Kernels that draw random numbers. Element e of an item is made from word e of those that the
// item's integers name, so it does not depend on the batch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/random.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/core/philox.h"
#include "dynet_like/device/cpu/groups-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/philox-inl.h"
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

// One word of random bits per lane, as a signed number made of its upper 24 bits.
template <class E>
HWY_INLINE auto load_uniform(const std::uint32_t* words) {
  const hn::RebindToSigned<typename Lanes<E>::Tag> d;
  const hn::Rebind<std::int32_t, decltype(d)> as_stored;
  const hn::Rebind<std::uint32_t, decltype(d)> bits;
  const auto upper = hn::BitCast(as_stored, hn::ShiftRight<8>(hn::LoadU(bits, words)));
  if constexpr (sizeof(E) == sizeof(std::int32_t)) {
    return upper;
  } else {
    return hn::PromoteTo(d, upper);
  }
}

// y = kept ? x / (1 - p) : 0, and the same for gradients. The mask is computed again instead of
// saved. An element is kept if unit_interval(word) >= p.
template <class E>
void drop(const std::uint32_t* integers, E p, const E* from, E* to, std::size_t n, bool add) {
  constexpr std::size_t kWords = 4 * PhiloxLanes::words;
  using Integers = hn::RebindToSigned<typename Lanes<E>::Tag>;
  const Lanes<E> scale(static_cast<double>(E(1) / (E(1) - p)));
  const auto too_small =
      hn::Set(Integers(), static_cast<hn::TFromD<Integers>>(
                              std::ceil(std::clamp(static_cast<double>(p), 0.0, 1.0) * 0x1p24)) -
                              1);
  alignas(64) std::uint32_t words[kWords + Lanes<E>::size];
  for (std::size_t i = 0; i < n;) {
    const std::size_t first = integers[3] + i, skipped = first % 4;
    for (std::size_t w = 0; w < kWords && w < skipped + n - i; w += PhiloxLanes::words) {
      PhiloxLanes::draw(integers, (first + w) / 4, words + w);
    }
    const std::size_t length = std::min(kWords - skipped, n - i);
    for_lanes<E>(length, [&](std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      const auto kept = hn::RebindMask(typename Lanes<E>::Tag(),
                                       hn::Gt(load_uniform<E>(words + skipped + at), too_small));
      const Lanes<E> scaled = load(from + i + at, count) * scale;
      put(Lanes<E>(hn::IfThenElseZero(kept, scaled.v)), to + i + at, count, add);
    });
    i += length;
  }
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
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    drop(call.integers + kRandomIntegers * i, static_cast<const E*>(call.reals)[i],
         call.dy.at<E>(i), to, call.type->output_size, call.dx[0].add[i] != 0);
  }
}

std::span<const cpu::KernelEntry> random_table() {
  static const cpu::KernelEntry table[] = {{"random_uniform", source_kernels<draws::Uniform>()},
                                           {"random_normal", source_kernels<draws::Normal>()},
                                           {"random_bernoulli", source_kernels<draws::Bernoulli>()},
                                           {"random_gumbel", source_kernels<draws::Gumbel>()},
                                           {"dropout",
                                            {{dropout_forward<float>, dropout_forward<double>},
                                             {dropout_backward<float>, dropout_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like::detail {
HWY_EXPORT(random_table);
std::span<const cpu::KernelEntry> cpu::random_kernels() {
  return HWY_DYNAMIC_DISPATCH(random_table)();
}
}  // namespace dynet_like::detail
#endif

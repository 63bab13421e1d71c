// Kernels that move elements: rows of tables, copies, concatenation, ranges, dropout.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "dynet_like/device/cpu/shapes.cpp"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "dynet_like/device/cpu/groups-inl.h"
#include "dynet_like/device/cpu/kernel_table.h"
#include "dynet_like/device/cpu/philox-inl.h"

#include <algorithm>
#include <cmath>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

template <class E>
void constant(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    std::fill_n(static_cast<E*>(call.out) + i * size, size, static_cast<const E*>(call.reals)[i]);
  }
}

template <class E>
void lookup(const ForwardCall& call) {
  constexpr std::size_t kAhead = 8;  // rows are random accesses to memory: ask for them early
  const std::size_t size = call.type->output_size;
  const E* table = call.in[0].at<E>(0);
  const auto row = [&](std::size_t i) { return table + std::size_t{call.integers[i]} * size; };
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    if (i + kAhead < call.n) {
      const char* next = reinterpret_cast<const char*>(row(i + kAhead));
      for (std::size_t at = 0; at < size * sizeof(E); at += 64) __builtin_prefetch(next + at);
    }
    copy_elements(row(i), out + i * size, size);
  }
}

// For a table that is no parameter; what parameters get is added up row by row elsewhere.
template <class E>
void lookup_backward(const BackwardCall& call) {
  const std::size_t size = call.type->output_size, table = call.type->inputs[0].size();
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    const bool add = call.dx[0].add[i] != 0;
    if (!add) std::memset(to, 0, table * sizeof(E));
    put_elements(call.dy.at<E>(i), to + std::size_t{call.integers[i]} * size, size, add);
  }
}

template <class E>
void identity_forward(const ForwardCall& call) {
  const std::size_t size = call.type->output_size;
  for (std::size_t i = 0; i < call.n; ++i) {
    copy_elements(call.in[0].at<E>(i), static_cast<E*>(call.out) + i * size, size);
  }
}

template <class E>
void identity_backward(const BackwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    put_elements(call.dy.at<E>(i), to, call.type->output_size, call.dx[0].add[i] != 0);
  }
}

// An item of input j is `outer` blocks of the output, each `inner * n_j` elements long.
template <class E>
void concatenate_forward(const ForwardCall& call) {
  const unsigned d = call.type->attributes[0];
  const Axis whole(call.type->output, d);
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i, out += call.type->output_size) {
    std::size_t offset = 0;
    for (std::size_t j = 0; j < call.type->inputs.size(); ++j) {
      const std::size_t block = whole.inner * call.type->inputs[j][d];
      const E* from = call.in[j].at<E>(i);
      for (std::size_t o = 0; o < whole.outer; ++o) {
        copy_elements(from + o * block, out + o * whole.inner * whole.n + offset, block);
      }
      offset += block;
    }
  }
}

template <class E>
void concatenate_backward(const BackwardCall& call) {
  const unsigned d = call.type->attributes[0];
  const Axis whole(call.type->output, d);
  std::size_t offset = 0;
  for (std::size_t j = 0; j < call.type->inputs.size(); ++j) {
    const std::size_t block = whole.inner * call.type->inputs[j][d];
    for (std::size_t i = 0; call.dx[j].wanted() && i < call.n; ++i) {
      E* to = call.dx[j].at<E>(i);
      if (to == nullptr) continue;
      const E* dy = call.dy.at<E>(i) + offset;
      for (std::size_t o = 0; o < whole.outer; ++o) {
        put_elements(dy + o * whole.inner * whole.n, to + o * block, block, call.dx[j].add[i] != 0);
      }
    }
    offset += block;
  }
}

template <class E>
void pick_range_forward(const ForwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const std::size_t length = axis.inner * call.type->attributes[1];
  E* out = static_cast<E*>(call.out);
  for (std::size_t i = 0; i < call.n; ++i) {
    const E* from = call.in[0].at<E>(i) + axis.inner * call.integers[i];
    for (std::size_t o = 0; o < axis.outer; ++o, out += length) {
      copy_elements(from + o * axis.inner * axis.n, out, length);
    }
  }
}

// A contribution is added whole, its zeros too: -0 + 0 is 0.
template <class E>
HWY_INLINE void put_zeros(E* to, std::size_t n, bool add) {
  put_groups(n, to, add, []<class T>(std::size_t, std::size_t) DYNET_LIKE_BODY { return T(0); });
}

template <class E>
void pick_range_backward(const BackwardCall& call) {
  const Axis axis(call.type->inputs[0], call.type->attributes[0]);
  const std::size_t length = axis.inner * call.type->attributes[1];
  const std::size_t stride = axis.inner * axis.n;
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    const bool add = call.dx[0].add[i] != 0;
    const std::size_t before = axis.inner * call.integers[i], after = before + length;
    const E* dy = call.dy.at<E>(i);
    for (std::size_t o = 0; o < axis.outer; ++o, to += stride, dy += length) {
      put_zeros(to, before, add);
      put_groups(length, to + before, add,
                 [&]<class T>(std::size_t at, std::size_t count)
                     DYNET_LIKE_BODY { return T(0) + load_as<T>(dy + at, count); });
      put_zeros(to + after, stride - after, add);
    }
  }
}

// A word of random bits per lane, as a signed number of its upper 24 bits.
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

// y = kept ? x / (1 - p) : 0, and the same for gradients; the mask is computed again, not kept.
// Element e of the node takes word e of the stream that its three integers and the key name, and is
// kept if unit_interval(word) >= p.
template <class E>
void drop(const PhiloxLanes& random, const std::uint32_t* integers, E p, const E* from, E* to,
          std::size_t n, bool add) {
  constexpr std::size_t kWords = 4 * PhiloxLanes::words;
  using Integers = hn::RebindToSigned<typename Lanes<E>::Tag>;
  const Lanes<E> scale(static_cast<double>(E(1) / (E(1) - p)));
  const auto too_small =
      hn::Set(Integers(), static_cast<hn::TFromD<Integers>>(
                              std::ceil(std::clamp(static_cast<double>(p), 0.0, 1.0) * 0x1p24)) -
                              1);
  alignas(64) std::uint32_t words[kWords + Lanes<E>::size];
  for (std::size_t i = 0; i < n;) {
    const std::size_t first = integers[2] + i, skipped = first % 4;
    for (std::size_t w = 0; w < kWords && w < skipped + n - i; w += PhiloxLanes::words) {
      random.draw(integers[0], integers[1], (first + w) / 4, words + w);
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
  const PhiloxLanes random(call.random);
  for (std::size_t i = 0; i < call.n; ++i) {
    drop(random, call.integers + 3 * i, static_cast<const E*>(call.reals)[i], call.in[0].at<E>(i),
         static_cast<E*>(call.out) + i * size, size, false);
  }
}

template <class E>
void dropout_backward(const BackwardCall& call) {
  const PhiloxLanes random(call.random);
  for (std::size_t i = 0; i < call.n; ++i) {
    E* to = call.dx[0].at<E>(i);
    if (to == nullptr) continue;
    drop(random, call.integers + 3 * i, static_cast<const E*>(call.reals)[i], call.dy.at<E>(i), to,
         call.type->output_size, call.dx[0].add[i] != 0);
  }
}

std::span<const cpu::KernelEntry> shape_table() {
  static const cpu::KernelEntry table[] = {
      {"constant", {{constant<float>, constant<double>}, {}}},
      {"lookup",
       {{lookup<float>, lookup<double>}, {lookup_backward<float>, lookup_backward<double>}}},
      {"identity",
       {{identity_forward<float>, identity_forward<double>},
        {identity_backward<float>, identity_backward<double>}}},
      {"concatenate",
       {{concatenate_forward<float>, concatenate_forward<double>},
        {concatenate_backward<float>, concatenate_backward<double>}}},
      {"pick_range",
       {{pick_range_forward<float>, pick_range_forward<double>},
        {pick_range_backward<float>, pick_range_backward<double>}}},
      {"transpose", cpu::transpose_kernels()},
      {"dropout",
       {{dropout_forward<float>, dropout_forward<double>},
        {dropout_backward<float>, dropout_backward<double>}}}};
  return table;
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dynet_like {
HWY_EXPORT(shape_table);
std::span<const cpu::KernelEntry> cpu::shape_kernels() {
  return HWY_DYNAMIC_DISPATCH(shape_table)();
}
}  // namespace dynet_like
#endif

// Dropout of a row of numbers. Included once per target, after hwy/foreach_target.h; the include
// guard is per target.

#if defined(DYNET_LIKE_DROPOUT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_DROPOUT_INL
#undef DYNET_LIKE_DROPOUT_INL
#else
#define DYNET_LIKE_DROPOUT_INL
#endif

#include "dynet_like/device/cpu/groups-inl.h"
#include "dynet_like/device/cpu/philox-inl.h"

#include <algorithm>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

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

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// Words of random nodes (core/philox.h), computed for one block per 64-bit lane at a time, and
// dropout of a row of numbers. Included once per target, after hwy/foreach_target.h; the include
// guard is per target.

#if defined(DYNET_LIKE_DROPOUT_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_DROPOUT_INL
#undef DYNET_LIKE_DROPOUT_INL
#else
#define DYNET_LIKE_DROPOUT_INL
#endif

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "dynet_like/device/cpu/groups-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

/// Philox4x32-10 with one block per lane. Between rounds only the lower halves of lanes count.
class PhiloxLanes {
 public:
  using Tag = hn::ScalableTag<std::uint64_t>;
  static constexpr std::size_t blocks = hn::MaxLanes(Tag()), words = 4 * blocks;

  /// The words of the blocks first, first + 1, ... of what these integers name, in order.
  static HWY_INLINE void draw(const std::uint32_t* integers, std::uint64_t first,
                              std::uint32_t* to) {
    const Tag d;
    auto c0 = hn::Add(hn::Set(d, first), hn::Iota(d, 0)), c1 = hn::ShiftRight<32>(c0);
    auto c2 = hn::Set(d, integers[2]), c3 = hn::Zero(d);
    auto low = hn::Set(d, integers[0]), high = hn::Set(d, integers[1]);
    for (int round = 0; round < 10; ++round) {
      const auto a = multiply(c0, 0xD2511F53u), b = multiply(c2, 0xCD9E8D57u);
      c0 = hn::Xor(hn::Xor(hn::ShiftRight<32>(b), c1), low);
      c2 = hn::Xor(hn::Xor(hn::ShiftRight<32>(a), c3), high);
      c1 = b;
      c3 = a;
      low = hn::Add(low, hn::Set(d, 0x9E3779B9u));
      high = hn::Add(high, hn::Set(d, 0xBB67AE85u));
    }
    // A 64-bit element is two words. The first word is its lower half and so the first in memory.
    const auto lower = hn::Set(d, 0xFFFFFFFFu);
    const auto pair = [&](auto low, auto high)
                          HWY_ATTR { return hn::Or(hn::And(low, lower), hn::ShiftLeft<32>(high)); };
    alignas(64) std::uint64_t pairs[2 * blocks];
    hn::StoreInterleaved2(pair(c0, c1), pair(c2, c3), d, pairs);
    std::memcpy(to, pairs, sizeof(pairs));
  }

 private:
  // Multiplies the lower halves of the lanes by a factor.
  static HWY_INLINE hn::Vec<Tag> multiply(hn::Vec<Tag> x, std::uint32_t factor) {
#if HWY_TARGET == HWY_SCALAR
    return hn::Mul(hn::And(x, hn::Set(Tag(), 0xFFFFFFFFu)), hn::Set(Tag(), factor));
#else
    const hn::Repartition<std::uint32_t, Tag> halves;
    return hn::MulEven(hn::BitCast(halves, x), hn::Set(halves, factor));
#endif
  }
};

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

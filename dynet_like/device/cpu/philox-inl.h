// Words of random nodes (core/philox.h), computed for one block per 64-bit lane at a time.
// Included once per target, after hwy/foreach_target.h; the include guard is per target.

#if defined(DYNET_LIKE_PHILOX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_PHILOX_INL
#undef DYNET_LIKE_PHILOX_INL
#else
#define DYNET_LIKE_PHILOX_INL
#endif

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

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

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

// SIMD lanes of float or double, for one target. Formulas and kernels are written in terms of them.
// Included once per target, after hwy/foreach_target.h; the include guard is per target.

#if defined(DYNET_LIKE_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_LANES_INL
#undef DYNET_LIKE_LANES_INL
#else
#define DYNET_LIKE_LANES_INL
#endif

#include <algorithm>
#include <cstddef>
#include <utility>

#include "dynet_like/device/kernel.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One vector of E. Lanes(c) puts c into all lanes.
template <class E>
struct Lanes {
  using Element = E;
  using Tag = hn::ScalableTag<E>;
  using Mask = hn::Mask<Tag>;
  static constexpr std::size_t size = hn::MaxLanes(Tag());
  // Whether there is no SIMD; whether this is x86; whether masked accesses touch no other memory.
  static constexpr bool is_emulated = HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SCALAR;
  static constexpr bool is_x86 = HWY_ARCH_X86 && !is_emulated;
  static constexpr bool masks_memory = is_x86 && HWY_TARGET <= HWY_AVX2;

  hn::Vec<Tag> v;

  Lanes() = default;
  HWY_INLINE explicit Lanes(double c) : v(hn::Set(Tag(), static_cast<E>(c))) {}
  HWY_INLINE explicit Lanes(hn::Vec<Tag> vector) : v(vector) {}

  static HWY_INLINE Lanes load(const E* from) { return Lanes(hn::LoadU(Tag(), from)); }
  HWY_INLINE void store(E* to) const { hn::StoreU(v, Tag(), to); }

  // The same, in a register. Compilers would load a vector again for every operation that reads it.
  HWY_INLINE Lanes pinned() const {
    Lanes same = *this;
#if HWY_ARCH_X86
    if constexpr (is_x86) __asm__("" : "+v"(same.v.raw));
#endif
    return same;
  }

  // Loads or stores the first n lanes, the others being zero. Accesses only memory in [0, n).
  static HWY_INLINE Lanes load(const E* from, std::size_t n) {
    if constexpr (masks_memory) {
      return Lanes(hn::MaskedLoad(first(n), Tag(), from));
    } else if constexpr (size == 1) {
      return load(from);
    } else {
      alignas(64) E buffer[size] = {};
      for (std::size_t i = 0; i < n; ++i) buffer[i] = from[i];
      return Lanes(hn::Load(Tag(), buffer));
    }
  }
  HWY_INLINE void store(E* to, std::size_t n) const {
    if constexpr (masks_memory) {
      hn::BlendedStore(v, first(n), Tag(), to);
    } else if constexpr (size == 1) {
      store(to);
    } else {
      alignas(64) E buffer[size];
      hn::Store(v, Tag(), buffer);
      for (std::size_t i = 0; i < n; ++i) to[i] = buffer[i];
    }
  }
  static HWY_INLINE Mask first(std::size_t n) { return hn::FirstN(Tag(), n); }

  HWY_INLINE E sum() const { return hn::GetLane(hn::SumOfLanes(Tag(), v)); }
  HWY_INLINE E max() const {
    if constexpr (is_emulated) {  // its MaxOfLanes treats -infinity as the lowest finite number
      E lanes[size];
      store(lanes);
      return *std::max_element(lanes, lanes + size);
    } else {
      return hn::GetLane(hn::MaxOfLanes(Tag(), v));
    }
  }
};

/// For lambdas of kernels: compiles them for the target and inlines them into the calling loop.
#define DYNET_LIKE_BODY HWY_ATTR __attribute__((always_inline))

#define DYNET_LIKE_LANES \
  template <class E>     \
  HWY_INLINE
DYNET_LIKE_LANES Lanes<E> operator+(Lanes<E> a, Lanes<E> b) { return Lanes<E>(hn::Add(a.v, b.v)); }
DYNET_LIKE_LANES Lanes<E> operator-(Lanes<E> a, Lanes<E> b) { return Lanes<E>(hn::Sub(a.v, b.v)); }
DYNET_LIKE_LANES Lanes<E> operator*(Lanes<E> a, Lanes<E> b) { return Lanes<E>(hn::Mul(a.v, b.v)); }
DYNET_LIKE_LANES Lanes<E> operator/(Lanes<E> a, Lanes<E> b) { return Lanes<E>(hn::Div(a.v, b.v)); }
DYNET_LIKE_LANES Lanes<E> operator-(Lanes<E> a) { return Lanes<E>(hn::Neg(a.v)); }
DYNET_LIKE_LANES typename Lanes<E>::Mask operator<(Lanes<E> a, Lanes<E> b) {
  return hn::Lt(a.v, b.v);
}
DYNET_LIKE_LANES Lanes<E> select(typename Lanes<E>::Mask condition, Lanes<E> a, Lanes<E> b) {
  return Lanes<E>(hn::IfThenElse(condition, a.v, b.v));
}
/// a < b ? a : b, which is b if either is NaN; max likewise.
DYNET_LIKE_LANES Lanes<E> min(Lanes<E> a, Lanes<E> b) {
  if constexpr (Lanes<E>::is_x86) return Lanes<E>(hn::Min(a.v, b.v));
  return select(a < b, a, b);
}
DYNET_LIKE_LANES Lanes<E> max(Lanes<E> a, Lanes<E> b) {
  if constexpr (Lanes<E>::is_x86) return Lanes<E>(hn::Max(a.v, b.v));
  return select(b < a, a, b);
}
/// a * b + c, rounded once.
DYNET_LIKE_LANES Lanes<E> fused(Lanes<E> a, Lanes<E> b, Lanes<E> c) {
  return Lanes<E>(hn::MulAdd(a.v, b.v, c.v));
}
DYNET_LIKE_LANES Lanes<E> sqrt(Lanes<E> x) { return Lanes<E>(hn::Sqrt(x.v)); }
DYNET_LIKE_LANES Lanes<E> abs(Lanes<E> x) { return Lanes<E>(hn::Abs(x.v)); }
/// |x| with the sign of `sign`.
DYNET_LIKE_LANES Lanes<E> copy_sign(Lanes<E> x, Lanes<E> sign) {
  return Lanes<E>(hn::CopySign(x.v, sign.v));
}

// Loads and stores of `count` elements: fewer than all lanes only in the last vector of a range.
template <class T>
HWY_INLINE T load_as(const typename T::Element* from, std::size_t count) {
  return count == T::size ? T::load(from) : T::load(from, count);
}
DYNET_LIKE_LANES Lanes<E> load(const E* from, std::size_t count) {
  return load_as<Lanes<E>>(from, count);
}
DYNET_LIKE_LANES void store(Lanes<E> lanes, E* to, std::size_t count) {
  count == Lanes<E>::size ? lanes.store(to) : lanes.store(to, count);
}
#undef DYNET_LIKE_LANES

/// Writes a finished result to a destination, or adds it there.
template <class T, class E = typename T::Element>
HWY_INLINE void put(T result, E* to, std::size_t count, bool add) {
  store(add ? load_as<T>(to, count) + result : result, to, count);
}
template <class E>
HWY_INLINE void put(E result, E* to, bool add) {
  *to = add ? *to + result : result;
}

/// Calls f(i, dx, add) for the items i whose gradient of input j is wanted.
template <class E, class F>
HWY_INLINE void for_gradients(const BackwardCall& call, std::size_t j, const F& f) {
  for (std::size_t i = 0; call.dx[j].wanted() && i < call.n; ++i) {
    if (E* const dx = call.dx[j].at<E>(i); dx != nullptr) f(i, dx, call.dx[j].add[i] != 0);
  }
}

/// Calls f(at, count) for [0, n) in steps of a vector; `count` is smaller only in the tail. load
/// and store take the count, so that one body serves both. The loop for floats has a count that the
/// compiler knows, which saves a third of the instructions in pointwise passes of cells.
template <class E, class F>
HWY_INLINE void for_lanes(std::size_t n, F&& f) {
  std::size_t at = 0;
  if constexpr (sizeof(E) == sizeof(float)) {
    for (; at + Lanes<E>::size <= n; at += Lanes<E>::size) f(at, Lanes<E>::size);
    if (at < n) f(at, n - at);
  } else {
    for (; at < n; at += Lanes<E>::size) f(at, HWY_MIN(Lanes<E>::size, n - at));
  }
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

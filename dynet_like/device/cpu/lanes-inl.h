// SIMD lanes of float or double, for one target: what formulas and kernels are written over.
// Included once per target, after hwy/foreach_target.h; no include guard but the target's own.

#if defined(DYNET_LIKE_LANES_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_LANES_INL
#undef DYNET_LIKE_LANES_INL
#else
#define DYNET_LIKE_LANES_INL
#endif

#include <cstddef>
#include <cstring>
#include <string_view>

#include "dynet_like/device/kernel.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// One vector of T. T(c) puts c into all lanes.
template <class E>
struct Lanes {
  using Tag = hn::ScalableTag<E>;
  using Mask = hn::Mask<Tag>;
  static constexpr std::size_t size = hn::MaxLanes(Tag());

  hn::Vec<Tag> v;

  Lanes() = default;
  HWY_INLINE explicit Lanes(double c) : v(hn::Set(Tag(), static_cast<E>(c))) {}
  HWY_INLINE explicit Lanes(hn::Vec<Tag> vector) : v(vector) {}

  static HWY_INLINE Lanes load(const E* from) { return Lanes(hn::LoadU(Tag(), from)); }
  HWY_INLINE void store(E* to) const { hn::StoreU(v, Tag(), to); }

  // Tails go through a whole vector on the stack: nothing outside [0, n) is read or written, on
  // any target, and the lanes see the same arithmetic as full vectors do.
  static HWY_INLINE Lanes load(const E* from, std::size_t n) {
    if constexpr (size == 1) return load(from);
    alignas(64) E buffer[size] = {};
    std::memcpy(buffer, from, n * sizeof(E));
    return Lanes(hn::Load(Tag(), buffer));
  }
  HWY_INLINE void store(E* to, std::size_t n) const {
    if constexpr (size == 1) return store(to);
    alignas(64) E buffer[size];
    hn::Store(v, Tag(), buffer);
    std::memcpy(to, buffer, n * sizeof(E));
  }
  HWY_INLINE E sum() const { return hn::GetLane(hn::SumOfLanes(Tag(), v)); }
  HWY_INLINE E max() const { return hn::GetLane(hn::MaxOfLanes(Tag(), v)); }
};

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
DYNET_LIKE_LANES Lanes<E> max(Lanes<E> a, Lanes<E> b) { return Lanes<E>(hn::Max(a.v, b.v)); }
/// a * b + c, rounded once.
DYNET_LIKE_LANES Lanes<E> fused(Lanes<E> a, Lanes<E> b, Lanes<E> c) {
  return Lanes<E>(hn::MulAdd(a.v, b.v, c.v));
}
DYNET_LIKE_LANES Lanes<E> sqrt(Lanes<E> x) { return Lanes<E>(hn::Sqrt(x.v)); }

// Highway's functions are for finite arguments; the edges are put right here.
DYNET_LIKE_LANES Lanes<E> nan_stays(Lanes<E> x, Lanes<E> result) {
  return Lanes<E>(hn::IfThenElse(hn::IsNaN(x.v), x.v, result.v));
}
DYNET_LIKE_LANES Lanes<E> exp(Lanes<E> x) {
  const typename Lanes<E>::Tag d;
  const E limit = sizeof(E) == 4 ? E(88.7228317) : E(709.782712893384);
  const auto overflows = hn::Gt(x.v, hn::Set(d, limit));
  const auto result = hn::Exp(d, hn::Min(x.v, hn::Set(d, limit)));
  return nan_stays(x, Lanes<E>(hn::IfThenElse(overflows, hn::Inf(d), result)));
}
DYNET_LIKE_LANES Lanes<E> log(Lanes<E> x) {
  const typename Lanes<E>::Tag d;
  const auto zero = hn::Zero(d);
  auto result = hn::Log(d, x.v);
  result = hn::IfThenElse(hn::Eq(x.v, hn::Inf(d)), x.v, result);
  result = hn::IfThenElse(hn::Eq(x.v, zero), hn::Neg(hn::Inf(d)), result);
  result = hn::IfThenElse(hn::Lt(x.v, zero), hn::NaN(d), result);
  return nan_stays(x, Lanes<E>(result));
}
DYNET_LIKE_LANES Lanes<E> tanh(Lanes<E> x) {
  const typename Lanes<E>::Tag d;
  const auto limit = hn::Set(d, E(20));  // 1 in both types
  const auto bounded = hn::Min(hn::Max(x.v, hn::Neg(limit)), limit);
  return nan_stays(x, Lanes<E>(hn::Tanh(d, bounded)));
}
DYNET_LIKE_LANES Lanes<E> logistic(Lanes<E> x) { return Lanes<E>(1) / (Lanes<E>(1) + exp(-x)); }
#undef DYNET_LIKE_LANES

/// Calls f(lanes, at, count) for [0, n) in steps of a vector; `count` is less in the tail only.
/// load and store below take the count, so that one body serves both.
template <class E, class F>
HWY_INLINE void for_lanes(std::size_t n, F&& f) {
  std::size_t at = 0;
  for (; at + Lanes<E>::size <= n; at += Lanes<E>::size) f(at, Lanes<E>::size);
  if (at < n) f(at, n - at);
}
template <class E>
HWY_INLINE Lanes<E> load(const E* from, std::size_t count) {
  return count == Lanes<E>::size ? Lanes<E>::load(from) : Lanes<E>::load(from, count);
}
template <class E>
HWY_INLINE void store(Lanes<E> lanes, E* to, std::size_t count) {
  count == Lanes<E>::size ? lanes.store(to) : lanes.store(to, count);
}
/// Writes a finished result to a destination, or adds it to what is there.
template <class E>
HWY_INLINE void put(Lanes<E> result, E* to, std::size_t count, bool add) {
  store(add ? load(to, count) + result : result, to, count);
}
template <class E>
HWY_INLINE void put(E result, E* to, bool add) {
  *to = add ? *to + result : result;
}

}  // namespace dynet_like::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

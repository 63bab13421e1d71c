// Groups: several vectors that behave like one. Their independent chains hide each other's latency.
// Also loops over consecutive elements that use groups as long as enough elements are left.
// Included once per target, after hwy/foreach_target.h; the include guard is per target.

#if defined(DYNET_LIKE_GROUPS_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_GROUPS_INL
#undef DYNET_LIKE_GROUPS_INL
#else
#define DYNET_LIKE_GROUPS_INL
#endif

#include "dynet_like/device/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

template <class E>
struct Group {
  using Element = E;
  static constexpr std::size_t count = 4;
  static constexpr std::size_t size = count * Lanes<E>::size;
  struct Mask {
    typename Lanes<E>::Mask part[count];
  };

  Lanes<E> part[count];

  Group() = default;
  HWY_INLINE explicit Group(double c) : Group(Lanes<E>(c)) {}
  HWY_INLINE explicit Group(Lanes<E> all) {
    for (Lanes<E>& lanes : part) lanes = all;
  }
  static HWY_INLINE Group load(const E* from) {
    Group result;
    for (std::size_t i = 0; i < count; ++i) {
      result.part[i] = Lanes<E>::load(from + i * Lanes<E>::size);
    }
    return result;
  }
  HWY_INLINE void store(E* to) const {
    for (std::size_t i = 0; i < count; ++i) part[i].store(to + i * Lanes<E>::size);
  }
  // A group is always loaded whole.
  static HWY_INLINE Group load(const E* from, std::size_t) { return load(from); }
};

template <class F, class E, class... Groups>
HWY_INLINE Group<E> each(F f, const Group<E>& first, const Groups&... others) {
  Group<E> result;
  for (std::size_t i = 0; i < Group<E>::count; ++i) {
    result.part[i] = f(first.part[i], others.part[i]...);
  }
  return result;
}

#define DYNET_LIKE_OF_ONE(function, result)                        \
  template <class E>                                               \
  HWY_INLINE Group<E> function(Group<E> a) {                       \
    return each([](auto x) DYNET_LIKE_BODY { return result; }, a); \
  }
#define DYNET_LIKE_OF_TWO(function, result)                                   \
  template <class E>                                                          \
  HWY_INLINE Group<E> function(Group<E> a, Group<E> b) {                      \
    return each([](auto x, auto y) DYNET_LIKE_BODY { return result; }, a, b); \
  }
DYNET_LIKE_OF_ONE(operator-, -x)
DYNET_LIKE_OF_ONE(sqrt, sqrt(x))
DYNET_LIKE_OF_ONE(abs, abs(x))
DYNET_LIKE_OF_TWO(operator+, x + y)
DYNET_LIKE_OF_TWO(operator-, x - y)
DYNET_LIKE_OF_TWO(operator*, x* y)
DYNET_LIKE_OF_TWO(operator/, x / y)
DYNET_LIKE_OF_TWO(max, max(x, y))
DYNET_LIKE_OF_TWO(min, min(x, y))
DYNET_LIKE_OF_TWO(copy_sign, copy_sign(x, y))  // |a| with the sign of b
#undef DYNET_LIKE_OF_TWO
#undef DYNET_LIKE_OF_ONE

template <class E>
HWY_INLINE Group<E> fused(Group<E> a, Group<E> b, Group<E> c) {
  return each([](auto x, auto y, auto z) DYNET_LIKE_BODY { return fused(x, y, z); }, a, b, c);
}
template <class E>
HWY_INLINE typename Group<E>::Mask operator<(Group<E> a, Group<E> b) {
  typename Group<E>::Mask result;
  for (std::size_t i = 0; i < Group<E>::count; ++i) result.part[i] = a.part[i] < b.part[i];
  return result;
}
template <class E>
HWY_INLINE Group<E> select(typename Group<E>::Mask condition, Group<E> a, Group<E> b) {
  Group<E> result;
  for (std::size_t i = 0; i < Group<E>::count; ++i) {
    result.part[i] = select(condition.part[i], a.part[i], b.part[i]);
  }
  return result;
}
template <class E>
HWY_INLINE void store(const Group<E>& group, E* to, std::size_t) {
  group.store(to);
}

/// Calls f.operator()<T>(at, count) for [0, n), with T = Group<E> while enough elements are left
/// and T = Lanes<E> for the rest. One body serves both, and an element has the same bits in either.
/// Doubles do not use groups, so that their kernels are smaller and compile faster.
template <class E, class F>
HWY_INLINE void for_groups(std::size_t n, F&& f) {
  std::size_t at = 0;
  if constexpr (sizeof(E) == sizeof(float)) {
    for (; at + Group<E>::size <= n; at += Group<E>::size) {
      f.template operator()<Group<E>>(at, Group<E>::size);
    }
  }
  for (; at < n; at += Lanes<E>::size) {
    f.template operator()<Lanes<E>>(at, HWY_MIN(Lanes<E>::size, n - at));
  }
}

/// Computes f.operator()<T>(at, count) for [0, n), and writes it to a destination or adds it there.
template <class E, class F>
HWY_INLINE void put_groups(std::size_t n, E* to, bool add, F&& f) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    put(f.template operator()<T>(at, count), to + at, count, add);
  });
}

template <class E>
HWY_INLINE void copy_elements(const E* from, E* to, std::size_t n) {
  for_groups<E>(n, [&]<class T>(std::size_t at, std::size_t count)
                       DYNET_LIKE_BODY { store(load_as<T>(from + at, count), to + at, count); });
}
template <class E>
HWY_INLINE void put_elements(const E* from, E* to, std::size_t n, bool add) {
  put_groups(n, to, add, [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
    return load_as<T>(from + at, count);
  });
}

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

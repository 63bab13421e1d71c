// What all kinds of softmax begin with.
// Included once per target, after hwy/foreach_target.h; no include guard but the target's own.

#if defined(DYNET_LIKE_SOFTMAX_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_SOFTMAX_INL
#undef DYNET_LIKE_SOFTMAX_INL
#else
#define DYNET_LIKE_SOFTMAX_INL
#endif

#include "dynet_like/device/cpu/math-inl.h"
#include "dynet_like/device/cpu/reduce-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// The maximum and the sum of e^(x - maximum), whose terms go to `terms` unless it is null.
template <class E>
struct Total {
  Lanes<E> top, sum;

  template <class Along>
  HWY_INLINE Total(const Along& along, const E* x, E* terms) {
    const auto load_x = [&]<class T>(std::size_t at, std::size_t count)
                            DYNET_LIKE_BODY { return load_as<T>(x + at, count); };
    top = along.template reduce<Maximum>(load_x);
    const auto term = [&]<class T>(std::size_t at, std::size_t count) DYNET_LIKE_BODY {
      const T result = exp_of_negative(load_as<T>(x + at, count) - T(top));
      if (terms != nullptr) store(result, terms + at, count);
      return result;
    };
    sum = along.template reduce<Sum>(term);
  }
};

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

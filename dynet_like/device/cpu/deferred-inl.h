// Where backward kernels leave the numbers from which gradients of parameters are computed.
// Included once per target, after hwy/foreach_target.h; the include guard is per target.

#if defined(DYNET_LIKE_DEFERRED_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef DYNET_LIKE_DEFERRED_INL
#undef DYNET_LIKE_DEFERRED_INL
#else
#define DYNET_LIKE_DEFERRED_INL
#endif

#include "dynet_like/device/cpu/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace dynet_like::detail::HWY_NAMESPACE {

// The place of every item: in workspace memory if the caller does not ask for these numbers.
template <class E>
class Deferred {
 public:
  explicit Deferred(const BackwardCall& call)
      : items_(call.deferred), size_(call.type->deferred_size) {
    if (items_ == nullptr) own_ = call.workspace->elements<E>(call.n * size_);
  }
  E* operator()(std::size_t i) const {
    return items_ != nullptr ? static_cast<E*>(items_[i]) : own_ + i * size_;
  }

 private:
  void* const* items_;
  E* own_ = nullptr;
  std::size_t size_;
};

}  // namespace dynet_like::detail::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

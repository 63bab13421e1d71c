// Where backward kernels leave the numbers from which gradients of parameters are computed.
#pragma once

#include "dynet_like/device/kernel.h"
#include "dynet_like/ops/op.h"

namespace dynet_like::detail::cpu {

/// The place of every item: in workspace memory if the caller does not ask for these numbers.
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

}  // namespace dynet_like::detail::cpu

// Where backward kernels leave the numbers from which gradients of parameters are computed.
#pragma once

#include "dynet_like/device/cuda/items.h"

namespace dynet_like::detail::cuda {

/// The place of every item: in scratch memory if the caller does not ask for these numbers.
template <class T>
struct Deferred {
  void* const* items = nullptr;
  T* own = nullptr;
  std::size_t size = 0;

  explicit Deferred(const BackwardCall& call)
      : items(call.deferred), size(call.type->deferred_size) {
    if (items == nullptr) own = call.workspace->elements<T>(call.n * size);
  }
  __device__ T* at(std::size_t i) const {
    return items != nullptr ? static_cast<T*>(items[i]) : own + i * size;
  }
  /// The same as addends of products, beginning at element `offset`.
  Places<T> places(std::size_t offset = 0) const {
    return items != nullptr ? Places<T>(items, offset) : Places<T>(own + offset, size);
  }
};

}  // namespace dynet_like::detail::cuda

// Starts a kernel with its arguments, whichever compiler has built it.
#pragma once

#include <array>
#include <span>
#include <type_traits>

#include "dynet_like/device/cuda/language.h"
#include "dynet_like/device/cuda/runtime.h"
#include "dynet_like/device/kernel.h"
#if defined(DYNET_LIKE_CUDA_HOST)
#include "dynet_like/device/cuda/host/function.h"
#endif

namespace dynet_like::detail::cuda {

/// Defined in files that are compiled as kernels.
template <class... Parameters>
void launch(Runtime& runtime, const Shape& shape, Threads threads, void (*kernel)(Parameters...),
            Parameters... arguments);

/// How many blocks of a kernel, with so many threads, can wait for each other.
template <class... Parameters>
unsigned most_blocks_at_once(Runtime& runtime, void (*kernel)(Parameters...), unsigned threads) {
  return runtime.most_blocks_at_once(reinterpret_cast<const void*>(kernel), threads);
}

#if !defined(DYNET_LIKE_CUDA_HOST)

template <class... Parameters>
void launch(Runtime& runtime, const Shape& shape, Threads, void (*kernel)(Parameters...),
            Parameters... arguments) {
  void* pointers[] = {static_cast<void*>(&arguments)...};
  runtime.launch(shape, {reinterpret_cast<const void*>(kernel), pointers});
}

#else

template <class T>
const void* address_in(const T& argument) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T> >) {
    return argument;
  } else if constexpr (std::is_same_v<T, Output>) {
    return argument.items != nullptr ? static_cast<const void*>(argument.items) : argument.first;
  } else {
    return nullptr;
  }
}

template <class... Parameters>
void launch(Runtime& runtime, const Shape& shape, Threads threads, void (*kernel)(Parameters...),
            Parameters... arguments) {
  const std::array<const void*, sizeof...(Parameters)> pointers = {address_in(arguments)...};
  using Call = host::StoredCall<Parameters...>;
  const Call call{kernel, {arguments...}};
  const host::Function function{reinterpret_cast<const void*>(kernel),
                                &call,
                                sizeof(Call),
                                Call::run,
                                pointers,
                                threads == Threads::cooperating,
                                __PRETTY_FUNCTION__};
  runtime.launch(shape, {&function, nullptr});
}

#endif

}  // namespace dynet_like::detail::cuda

// Beginning a kernel with its arguments, whichever compiler has built it.
#pragma once

#include <array>
#include <span>
#include <type_traits>

#include "dynet_like/device/cuda/language.h"
#include "dynet_like/device/cuda/runtime.h"

namespace dynet_like::detail::cuda {

/// Defined where kernels are compiled.
template <class... Parameters>
void launch(Runtime& runtime, const Shape& shape, Threads threads, void (*kernel)(Parameters...),
            Parameters... arguments);

#if !defined(DYNET_LIKE_CUDA_HOST)

struct Runtime::Call {
  const void* kernel;
  void** arguments;
};

template <class... Parameters>
void launch(Runtime& runtime, const Shape& shape, Threads threads, void (*kernel)(Parameters...),
            Parameters... arguments) {
  void* pointers[] = {static_cast<void*>(&arguments)...};
  runtime.launch(shape, threads, {reinterpret_cast<const void*>(kernel), pointers});
}

#else

struct Runtime::Call {
  void (*run)(const void* kernel);  ///< as one thread
  const void* kernel;
  std::span<const void* const> pointers;  ///< its arguments: addresses of the device, or null
};

template <class T>
const void* address_in(const T& argument) {
  if constexpr (std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T> >) {
    return argument;
  } else {
    return nullptr;
  }
}

template <class... Parameters>
void launch(Runtime& runtime, const Shape& shape, Threads threads, void (*kernel)(Parameters...),
            Parameters... arguments) {
  const std::array<const void*, sizeof...(Parameters)> pointers = {address_in(arguments)...};
  const auto thread = [&] { kernel(arguments...); };
  using Thread = decltype(thread);
  runtime.launch(shape, threads,
                 {[](const void* call) { (*static_cast<Thread*>(call))(); }, &thread, pointers});
}

#endif

}  // namespace dynet_like::detail::cuda

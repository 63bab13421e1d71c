// What a launch on the CPU must know about a kernel besides its code.
#pragma once

#include <cstddef>
#include <span>
#include <tuple>
#include <type_traits>

namespace dynet_like::detail::cuda::host {

/// A kernel with its arguments, which a launch copies: like what nvcc registers with cudart.
struct Function {
  const void* kernel;
  const void* call;  ///< a StoredCall
  std::size_t size;
  void (*run)(const void* call);          ///< runs it as one thread
  std::span<const void* const> pointers;  ///< pointers among its arguments
  bool cooperates;                        ///< whether threads of a block wait for each other
  const char* name;
};

template <class... Parameters>
struct StoredCall {
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;

  // The bytes are copied, as the arguments on a GPU are.
  static_assert((std::is_trivially_copyable_v<Parameters> && ...));
  static void run(const void* call) {
    const auto* const self = static_cast<const StoredCall*>(call);
    std::apply(self->kernel, self->arguments);
  }
};

}  // namespace dynet_like::detail::cuda::host

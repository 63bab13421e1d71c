// Memory of the emulator itself. It does not use operator new, which tests make fail: a GPU's
// driver does not share operator new with its callers either.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace dynet_like::detail::cuda::host {

template <class T>
struct OwnMemory {
  using value_type = T;

  OwnMemory() = default;
  template <class U>
  OwnMemory(const OwnMemory<U>&) {}

  T* allocate(std::size_t count) {
    if (void* const memory = std::malloc(count * sizeof(T)); memory != nullptr) {
      return static_cast<T*>(memory);
    }
    throw std::bad_alloc();
  }
  void deallocate(T* memory, std::size_t) { std::free(memory); }
  bool operator==(const OwnMemory&) const = default;
};

}  // namespace dynet_like::detail::cuda::host

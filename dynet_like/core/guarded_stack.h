// Memory for a stack, with a guard page that must not be accessed.
#pragma once

#include <cstddef>

namespace dynet_like::detail {

/// The stack grows down from `top` to the guard page, which `size` includes.
struct GuardedStack {
  void* top = nullptr;
  std::size_t size = 0;
};

/// Rounds up to pages. Throws std::bad_alloc if the system has no room for a stack and its guard.
GuardedStack allocate_stack(std::size_t bytes);
void free_stack(const GuardedStack& stack) noexcept;

}  // namespace dynet_like::detail

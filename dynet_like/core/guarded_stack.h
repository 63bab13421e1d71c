// Memory for a stack, behind a page that nothing may touch.
#pragma once

#include <cstddef>

namespace dynet_like::detail {

/// It grows down from `top` to the guard, which is a part of `size`.
struct GuardedStack {
  void* top = nullptr;
  std::size_t size = 0;
};

/// Rounds up to pages. Throws std::bad_alloc if the system has no room for a stack and its guard.
GuardedStack allocate_stack(std::size_t bytes);
void free_stack(const GuardedStack& stack) noexcept;

}  // namespace dynet_like::detail

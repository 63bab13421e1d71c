// A function that stops in the middle and goes on later, on a stack of its own.
#pragma once

#include <cstddef>
#include <memory>

namespace dynet_like::detail {

/// Keeps its stack for many functions, one after the other. Must not be destroyed while one of them
/// is stopped. A function ends on the thread that it began on; another may begin on another thread.
///
/// Behind the stack lies a page that nothing may touch: a function that needs more ends the process
/// there instead of overwriting what belongs to others.
class Fiber {
 public:
  using Function = void (*)(void*);

  /// `number` tells apart those that run together: their frames should not meet in one cache line.
  /// Throws std::bad_alloc if there is no room for a stack.
  explicit Fiber(std::size_t stack_bytes, unsigned number = 0);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// What the next `resume` begins with; it must not throw.
  void set_function(Function function, void* argument);
  /// Runs it until it yields or returns. Exceptions that are being handled here are out of its
  /// sight, and those that it handles out of sight here.
  void resume();
  /// Called by the function, or by what runs on its stack: goes back to where it was resumed.
  void yield();
  /// Whether the caller stands on this fiber's stack.
  bool is_current() const;

 private:
  struct Stack;
  std::unique_ptr<Stack> stack_;
};

}  // namespace dynet_like::detail

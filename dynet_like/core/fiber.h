// A function that can stop in the middle and continue later, on a stack of its own.
#pragma once

#include <cstddef>
#include <memory>

namespace dynet_like::detail {

/// Runs functions one after the other on a stack that it keeps. Must not be destroyed while a
/// function is stopped. A function must end on the thread on which it began; the next may use
/// another one.
///
/// A guard page lies below the stack: a function that needs more stack ends the process there
/// instead of overwriting other memory.
class Fiber {
 public:
  using Function = void (*)(void*);

  /// Fibers that run together have different values of `number`, so that their frames do not share
  /// cache lines. Throws std::bad_alloc if there is no room for a stack.
  explicit Fiber(std::size_t stack_bytes, unsigned number = 0);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// Sets the function that the next `resume` starts. It must not throw.
  void set_function(Function function, void* argument);
  /// Runs the function until it yields or returns. The function does not see the exceptions that
  /// the caller is handling, and the caller does not see those that the function is handling.
  void resume();
  /// Returns to the caller of `resume`. Called by the function, or by code on its stack.
  void yield();
  /// Whether the caller runs on this fiber's stack.
  bool is_current() const;

 private:
  struct Stack;
  std::unique_ptr<Stack> stack_;
};

}  // namespace dynet_like::detail

// A function that stops in the middle and goes on later, on a stack of its own.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>

namespace dynet_like::cuda::host {

/// Keeps its stack for many functions, one after the other. Must not be destroyed while one of them
/// is stopped. Between two functions it may move to another thread of the process.
class Fiber {
 public:
  using Function = void (*)(void*);

  /// `number` tells apart those that run together: their frames should not meet in one cache line.
  explicit Fiber(unsigned number);
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// What the next `resume` begins with; it must not throw.
  void set_function(Function function, void* argument);
  /// Runs it until it yields or returns.
  void resume();
  /// Called by the function: goes back to where it was resumed.
  void yield();

 private:
  boost::context::fiber main(boost::context::fiber&& outside);

  Function function_ = nullptr;
  void* argument_ = nullptr;
  boost::context::fiber inside_, outside_;
  // For the address sanitizer: both stacks.
  const void* bottom_ = nullptr;
  std::size_t size_ = 0;
  const void* outside_bottom_ = nullptr;
  std::size_t outside_size_ = 0;
};

}  // namespace dynet_like::cuda::host

// Fibers: Boost.Context's, with what the address sanitizer must know of a change of stacks.
#include "dynet_like/device/cuda/host/fiber.h"

#include <boost/context/protected_fixedsize_stack.hpp>
#include <utility>

#include "dynet_like/device/cuda/host/sanitizer.h"

namespace dynet_like::cuda::host {

namespace {

namespace ctx = boost::context;

constexpr std::size_t kStack = std::size_t{256} << 10;
// Stacks begin at pages, so that all frames would lie in a few sets of the cache.
constexpr unsigned kOffsets = 16, kOffset = 256;

}  // namespace

Fiber::Fiber(unsigned number) {
  ctx::protected_fixedsize_stack stacks(kStack);
  const ctx::stack_context stack = stacks.allocate();
  const std::size_t offset = number % kOffsets * kOffset;
  bottom_ = static_cast<const std::byte*>(stack.sp) - stack.size;
  size_ = stack.size;
  unpoison(bottom_, size_);  // what another stack has left at this place
  inside_ = ctx::fiber(
      std::allocator_arg,
      ctx::preallocated(static_cast<std::byte*>(stack.sp) - offset, stack.size - offset, stack),
      std::move(stacks), [this](ctx::fiber&& outside) { return main(std::move(outside)); });
}

// A resumed fiber without a function ends, and its stack is gone.
Fiber::~Fiber() {
  resume();
  unpoison(bottom_, size_);
}

void Fiber::set_function(Function function, void* argument) {
  function_ = function;
  argument_ = argument;
}

void Fiber::resume() {
  void* saved = nullptr;
  begin_switch(&saved, bottom_, size_);
  inside_ = std::move(inside_).resume();
  end_switch(saved, nullptr, nullptr);
}

void Fiber::yield() {
  void* saved = nullptr;
  begin_switch(&saved, outside_bottom_, outside_size_);
  outside_ = std::move(outside_).resume();
  end_switch(saved, &outside_bottom_, &outside_size_);
}

boost::context::fiber Fiber::main(boost::context::fiber&& outside) {
  outside_ = std::move(outside);
  end_switch(nullptr, &outside_bottom_, &outside_size_);
  while (function_ != nullptr) {
    function_(argument_);
    function_ = nullptr;
    yield();
  }
  begin_switch(nullptr, outside_bottom_, outside_size_);
  return std::move(outside_);
}

}  // namespace dynet_like::cuda::host

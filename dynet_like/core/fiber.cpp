// Fibers of Boost.Context. Saves state, and informs sanitizers, when stacks change.
#include "dynet_like/core/fiber.h"

#include <cxxabi.h>

#include <boost/context/fiber.hpp>
#include <cstdint>
#include <utility>

#include "dynet_like/core/guarded_stack.h"
#include "dynet_like/core/sanitizer.h"

#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(begin, end) 0
#define VALGRIND_STACK_DEREGISTER(id) static_cast<void>(id)
#endif

namespace dynet_like::detail {

namespace {

namespace ctx = boost::context;

// Stacks begin at page boundaries, which would put the frames of all fibers into a few cache sets.
constexpr unsigned kOffsets = 16, kOffset = 256;

// The exceptions in flight on a thread, as in __cxa_eh_globals of the C++ ABI. Each stack has its
// own.
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

// Boost.Context calls this to free a stack after its function has returned.
struct FreesStack {
  void deallocate(const ctx::stack_context& memory) const { free_stack({memory.sp, memory.size}); }
};

Exceptions& exceptions() { return *reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()); }

}  // namespace

struct Fiber::Stack {
  Function function = nullptr;
  void* argument = nullptr;
  ctx::fiber inside, outside;
  Exceptions inside_exceptions;
  // For sanitizers: both stacks and both contexts.
  const void* bottom = nullptr;
  std::size_t size = 0;
  const void* outside_bottom = nullptr;
  std::size_t outside_size = 0;
  void *inside_context = nullptr, *outside_context = nullptr;
  unsigned valgrind = 0;

  ctx::fiber main(ctx::fiber&& from);
  void yield();
};

Fiber::Fiber(std::size_t stack_bytes, unsigned number) : stack_(std::make_unique<Stack>()) {
  const GuardedStack allocated = allocate_stack(stack_bytes);
  ctx::stack_context memory;
  memory.sp = allocated.top;
  memory.size = allocated.size;
  const std::size_t offset = number % kOffsets * kOffset;
  Stack& stack = *stack_;
  stack.bottom = static_cast<const std::byte*>(memory.sp) - memory.size;
  stack.size = memory.size;
  unpoison(stack.bottom, stack.size);  // whatever another stack left poisoned here
  stack.valgrind = static_cast<unsigned>(VALGRIND_STACK_REGISTER(stack.bottom, memory.sp));
  stack.inside_context = make_context();
  stack.inside = ctx::fiber(
      std::allocator_arg,
      ctx::preallocated(static_cast<std::byte*>(memory.sp) - offset, memory.size - offset, memory),
      FreesStack(), [&stack](ctx::fiber&& outside) { return stack.main(std::move(outside)); });
}

// Resumes the fiber without a function, which makes its main function return and frees its stack.
Fiber::~Fiber() {
  resume();
  unpoison(stack_->bottom, stack_->size);
  VALGRIND_STACK_DEREGISTER(stack_->valgrind);
  destroy_context(stack_->inside_context);
}

void Fiber::set_function(Function function, void* argument) {
  stack_->function = function;
  stack_->argument = argument;
}

void Fiber::resume() {
  Stack& stack = *stack_;
  Exceptions& of_thread = exceptions();
  const Exceptions outside = std::exchange(of_thread, stack.inside_exceptions);
  stack.outside_context = current_context();
  void* saved = nullptr;
  begin_switch(&saved, stack.bottom, stack.size);
  switch_context(stack.inside_context);
  stack.inside = std::move(stack.inside).resume();
  end_switch(saved, nullptr, nullptr);
  stack.inside_exceptions = std::exchange(of_thread, outside);
}

void Fiber::yield() { stack_->yield(); }

bool Fiber::is_current() const {
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  return here - reinterpret_cast<std::uintptr_t>(stack_->bottom) < stack_->size;
}

void Fiber::Stack::yield() {
  void* saved = nullptr;
  begin_switch(&saved, outside_bottom, outside_size);
  switch_context(outside_context);
  outside = std::move(outside).resume();
  end_switch(saved, &outside_bottom, &outside_size);
}

ctx::fiber Fiber::Stack::main(ctx::fiber&& from) {
  outside = std::move(from);
  end_switch(nullptr, &outside_bottom, &outside_size);
  while (function != nullptr) {
    function(argument);
    function = nullptr;
    yield();
  }
  begin_switch(nullptr, outside_bottom, outside_size);
  switch_context(outside_context);
  return std::move(outside);
}

}  // namespace dynet_like::detail

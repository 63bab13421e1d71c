// Tells sanitizers and valgrind about memory and stacks; does nothing in other builds.
#pragma once

#include <cstddef>

#if defined(DYNET_LIKE_TSAN)
// Defined for a file of a thread sanitizer build that is itself compiled without instrumentation.
#elif defined(__SANITIZE_ADDRESS__)
#define DYNET_LIKE_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define DYNET_LIKE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define DYNET_LIKE_ASAN 1
#elif __has_feature(thread_sanitizer)
#define DYNET_LIKE_TSAN 1
#endif
#endif

#ifdef DYNET_LIKE_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef DYNET_LIKE_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace dynet_like::detail {

#ifdef DYNET_LIKE_ASAN

constexpr bool kSanitized = true;
inline void poison(const void* memory, std::size_t size) {
  __asan_poison_memory_region(memory, size);
}
inline void unpoison(const void* memory, std::size_t size) {
  __asan_unpoison_memory_region(memory, size);
}
/// Call before a switch to another stack. `saved` is null if the old stack is never entered again.
inline void begin_switch(void** saved, const void* bottom, std::size_t size) {
  __sanitizer_start_switch_fiber(saved, bottom, size);
}
/// Call after the switch. Returns the stack that was left, unless `bottom` and `size` are null.
inline void end_switch(void* saved, const void** bottom, std::size_t* size) {
  __sanitizer_finish_switch_fiber(saved, bottom, size);
}

#else

constexpr bool kSanitized = false;
inline void poison(const void*, std::size_t) {}
inline void unpoison(const void*, std::size_t) {}
inline void begin_switch(void**, const void*, std::size_t) {}
inline void end_switch(void*, const void**, std::size_t*) {}

#endif

/// The thread sanitizer must know which context a thread runs in.
#ifdef DYNET_LIKE_TSAN

inline void* make_context() { return __tsan_create_fiber(0); }
inline void destroy_context(void* context) { __tsan_destroy_fiber(context); }
inline void* current_context() { return __tsan_get_current_fiber(); }
inline void switch_context(void* context) { __tsan_switch_to_fiber(context, 0); }

#else

inline void* make_context() { return nullptr; }
inline void destroy_context(void*) {}
inline void* current_context() { return nullptr; }
inline void switch_context(void*) {}

#endif

}  // namespace dynet_like::detail

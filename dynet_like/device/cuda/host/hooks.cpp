// The functions that the compiler calls at every access of a kernel for -fsanitize=thread and
// -fsanitize=alignment. The sanitizers' own libraries are not linked.
#include <cstdint>
#include <cstring>

#include "dynet_like/device/cuda/host/races.h"

using dynet_like::detail::cuda::host::Races;

namespace {

void visit(const void* at, std::size_t size, bool writes, const void* code) {
  Races* const races = Races::running();
  if (races != nullptr) [[unlikely]] {
    races->access(reinterpret_cast<std::uintptr_t>(at), size, writes, code);
  }
}

// In the compiler's layout.
struct Mismatch {
  const char* file;
  std::uint32_t line, column;
  const void* type;
  std::uint8_t log_alignment, kind;
};

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define SIZED(size)                                                                         \
  void __tsan_read##size(void* at) { visit(at, size, false, __builtin_return_address(0)); } \
  void __tsan_write##size(void* at) { visit(at, size, true, __builtin_return_address(0)); }
SIZED(1)
SIZED(2)
SIZED(4)
SIZED(8)
SIZED(16)
#undef SIZED
#define UNALIGNED(size)                                  \
  void __tsan_unaligned_read##size(void* at) {           \
    visit(at, size, false, __builtin_return_address(0)); \
  }                                                      \
  void __tsan_unaligned_write##size(void* at) {          \
    visit(at, size, true, __builtin_return_address(0));  \
  }
UNALIGNED(2)
UNALIGNED(4)
UNALIGNED(8)
UNALIGNED(16)
#undef UNALIGNED
void __tsan_read_range(void* at, std::size_t size) {
  visit(at, size, false, __builtin_return_address(0));
}
void __tsan_write_range(void* at, std::size_t size) {
  visit(at, size, true, __builtin_return_address(0));
}
void* __tsan_memcpy(void* to, const void* from, std::size_t size) {
  visit(from, size, false, __builtin_return_address(0));
  visit(to, size, true, __builtin_return_address(0));
  return std::memcpy(to, from, size);
}
void* __tsan_memset(void* to, int byte, std::size_t size) {
  visit(to, size, true, __builtin_return_address(0));
  return std::memset(to, byte, size);
}
// Called by launchers, which are compiled with the kernels.
std::uint8_t __tsan_atomic8_load(const volatile std::uint8_t* at, int) {
  return __atomic_load_n(at, __ATOMIC_ACQUIRE);
}
int __tsan_atomic32_fetch_add(volatile int* at, int value, int) {
  return __atomic_fetch_add(at, value, __ATOMIC_ACQ_REL);
}

void __ubsan_handle_type_mismatch_v1(Mismatch* mismatch, void* at) {
  Races* const races = Races::running();
  if (races == nullptr) return;
  races->note_misaligned(reinterpret_cast<std::uintptr_t>(at),
                         std::size_t{1} << mismatch->log_alignment, mismatch->file, mismatch->line);
}
void __ubsan_handle_type_mismatch_v1_abort(Mismatch* mismatch, void* at) {
  __ubsan_handle_type_mismatch_v1(mismatch, at);
}

}  // extern "C"

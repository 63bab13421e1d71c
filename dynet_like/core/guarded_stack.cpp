// Stacks: mapped without access, then made accessible except for the guard page.
#include "dynet_like/core/guarded_stack.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <limits>
#include <new>

namespace dynet_like::detail {

namespace {

// Linux limits the number of memory regions of a process. A stack and its guard are two of them.
// Some regions are reserved for other allocations, which would fail otherwise.
constexpr std::size_t kUsualRegions = 65530, kRegionsOfAStack = 2, kRegionsForOthers = 8192;

std::size_t most_stacks() {
  std::size_t regions = kUsualRegions;
  if (std::size_t allowed; std::ifstream("/proc/sys/vm/max_map_count") >> allowed)
    regions = allowed;
  return regions <= kRegionsForOthers ? 0 : (regions - kRegionsForOthers) / kRegionsOfAStack;
}

std::atomic<std::size_t> stacks_in_use = 0;

}  // namespace

GuardedStack allocate_stack(std::size_t bytes) {
  static const std::size_t most = most_stacks();
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw std::bad_alloc();
  const std::size_t size = (bytes + page - 1) / page * page + page;
  if (++stacks_in_use > most) {
    --stacks_in_use;
    throw std::bad_alloc();
  }
  void* const begin = ::mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const bool is_mapped = begin != MAP_FAILED;
  auto* const first = static_cast<std::byte*>(begin);
  if (is_mapped && ::mprotect(first + page, size - page, PROT_READ | PROT_WRITE) == 0) {
    return {first + size, size};
  }
  if (is_mapped) ::munmap(begin, size);
  --stacks_in_use;
  throw std::bad_alloc();
}

void free_stack(const GuardedStack& stack) noexcept {
  ::munmap(static_cast<std::byte*>(stack.top) - stack.size, stack.size);
  --stacks_in_use;
}

}  // namespace dynet_like::detail

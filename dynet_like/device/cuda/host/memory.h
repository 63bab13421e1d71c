// Memory that stands for a device's: an address range that only launches and copies may touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "dynet_like/device/cuda/host/own_memory.h"

namespace dynet_like::detail::cuda::host {

/// Allocations are aligned to 256 bytes and filled with NaNs, and so is what was freed. Behind each
/// lies a guard: the address sanitizer sees accesses to it, and in other builds `check` finds
/// writes.
class Memory {
 public:
  /// Reserves addresses for `size` bytes, or for as many as the process may have.
  explicit Memory(std::size_t size);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Throws DeviceError if there is no room.
  void* allocate(std::size_t size);
  void free(void* memory) noexcept;

  /// Lets code read and write it; a close for each open. Outside, an access is a SIGSEGV, on
  /// processors without protection keys only until it was closed some ten thousand times.
  void open();
  void close() noexcept;
  bool is_open() const { return depth_ > 0; }

  /// Whether these bytes, or the end of them if there are none, belong to one allocation.
  bool holds(const void* at, std::size_t size) const;
  /// Of the allocation that begins there; 0 if none does.
  std::size_t size_at(const void* begin) const;
  /// Whether it is an address of the range.
  bool has_address(const void* at) const;
  /// Throws DeviceError, once, if a guard was written to, or something else freed. Needs open
  /// memory.
  void check();

  const std::byte* begin() const { return base_; }
  std::size_t size() const { return size_; }
  std::size_t bytes_in_use() const { return bytes_in_use_; }

 private:
  struct Allocation {
    std::size_t size, held;  ///< with its guard
  };
  template <class T>
  using Map = std::map<std::size_t, T, std::less<>, OwnMemory<std::pair<const std::size_t, T>>>;
  using Places = Map<std::size_t>;  ///< offset and size

  void grow(std::size_t size);
  void give_back(std::size_t offset, std::size_t size);
  void protect(int access);
  void note_written_guard(std::size_t offset, const Allocation& allocation) noexcept;

  void* range_ = nullptr;  ///< and some more than is used of it
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;  ///< of the range
  std::size_t end_ = 0;   ///< of what was ever in use
  unsigned depth_ = 0;
  int key_ = -1;                 ///< of the processor, if it has them: that costs no system call
  std::size_t closes_ = 0;       ///< by system calls
  Map<Allocation> allocations_;  ///< by offset
  Places free_;                  ///< below `end_`
  std::size_t bytes_in_use_ = 0;
  std::size_t checked_to_ = 0;  ///< offset from which guards are checked next
  std::string fault_;
};

}  // namespace dynet_like::detail::cuda::host

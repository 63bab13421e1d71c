// Memory that stands for a device's: a range of addresses that only launches and copies may access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "dynet_like/device/cuda/host/own_memory.h"

namespace dynet_like::detail::cuda::host {

/// Allocations are aligned to 256 bytes and filled with NaNs; freed memory is filled with NaNs,
/// too. Behind each allocation lies a guard: the address sanitizer finds accesses to it, and in
/// other builds `check` finds writes.
class Memory {
 public:
  /// Reserves addresses for `size` bytes, or for as many as the system allows.
  explicit Memory(std::size_t size);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Throws DeviceError if the range is full.
  void* allocate(std::size_t size);
  void free(void* memory) noexcept;

  /// Allows reads and writes until the matching close. Outside, an access raises SIGSEGV. On
  /// processors without protection keys it does so only for the first ten thousand or so closes.
  void open();
  void close() noexcept;
  bool is_open() const { return depth_ > 0; }

  /// Whether these bytes (or this address, if size is 0) belong to one allocation.
  bool holds(const void* at, std::size_t size) const;
  /// The size of the allocation that begins at this address; 0 if none does.
  std::size_t size_at(const void* begin) const;
  /// Whether this is an address of the range.
  bool has_address(const void* at) const;
  /// Throws DeviceError, once per fault, if a guard was written to or an invalid address was freed.
  /// The memory must be open.
  void check();

  const std::byte* begin() const { return base_; }
  std::size_t size() const { return size_; }
  std::size_t bytes_in_use() const { return bytes_in_use_; }

 private:
  struct Allocation {
    std::size_t size, held;  ///< including its guard
  };
  template <class T>
  using Map = std::map<std::size_t, T, std::less<>, OwnMemory<std::pair<const std::size_t, T>>>;
  using Places = Map<std::size_t>;  ///< size by offset

  void grow(std::size_t size);
  void give_back(std::size_t offset, std::size_t size);
  void protect(int access);
  void note_written_guard(std::size_t offset, const Allocation& allocation) noexcept;

  void* range_ = nullptr;  ///< larger than the part that is used
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;  ///< of the range
  std::size_t end_ = 0;   ///< of the part that was ever in use
  unsigned depth_ = 0;
  int key_ = -1;                 ///< the protection key; -1: none, closing is a system call
  std::size_t closes_ = 0;       ///< by system calls
  Map<Allocation> allocations_;  ///< by offset
  Places free_;                  ///< below `end_`
  std::size_t bytes_in_use_ = 0;
  std::size_t checked_to_ = 0;  ///< offset at which the next check of guards begins
  std::string fault_;
};

}  // namespace dynet_like::detail::cuda::host

// Memory that stands for a device's: a range of addresses that only launches and copies may access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>

#include "dynet_like/device/cuda/host/own_memory.h"

namespace dynet_like::detail::cuda::host {

/// Allocations are aligned to 256 bytes, with a gap between them, and filled with NaNs; freed
/// memory is filled with NaNs, too.
class Memory {
 public:
  /// Reserves addresses for `size` bytes, or for as many as the system allows.
  explicit Memory(std::size_t size);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// Throws DeviceError if the range is full.
  void* allocate(std::size_t size);
  /// Throws DeviceError if no allocation begins at this address.
  void free(void* memory);

  /// Allows reads and writes until the matching close. Outside, an access raises SIGSEGV, until
  /// there have been ten thousand or so closes.
  void open();
  void close() noexcept;

  /// Whether these bytes (or this address, if size is 0) belong to one allocation.
  bool holds(const void* at, std::size_t size) const;
  /// The size of the allocation that begins at this address; 0 if none does.
  std::size_t size_at(const void* begin) const;
  /// Whether this is an address of the range.
  bool has_address(const void* at) const;
  const std::byte* begin() const { return base_; }
  std::size_t size() const { return size_; }
  std::size_t bytes_in_use() const { return bytes_in_use_; }

 private:
  struct Allocation {
    std::size_t size, held;  ///< including the gap behind it
  };
  template <class T>
  using Map = std::map<std::size_t, T, std::less<>, OwnMemory<std::pair<const std::size_t, T>>>;
  using Places = Map<std::size_t>;  ///< size by offset

  void grow(std::size_t size);
  void give_back(std::size_t offset, std::size_t size);
  void protect(int access);

  void* range_ = nullptr;  ///< larger than the part that is used
  std::byte* base_ = nullptr;
  std::size_t size_ = 0;  ///< of the range
  std::size_t end_ = 0;   ///< of the part that was ever in use
  unsigned depth_ = 0;
  std::size_t closes_ = 0;
  Map<Allocation> allocations_;  ///< by offset
  Places free_;                  ///< below `end_`
  std::size_t bytes_in_use_ = 0;
};

}  // namespace dynet_like::detail::cuda::host

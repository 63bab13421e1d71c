// Which bytes of a device's memory kernels may access: those of values, not those between them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace dynet_like::detail::cuda::host {

/// Knows for every four bytes how many of them, from the first on, are part of a value: none at
/// first.
class LentMemory {
 public:
  /// For a range of addresses that is reserved once.
  LentMemory(const std::byte* memory, std::size_t size);
  ~LentMemory();
  LentMemory(const LentMemory&) = delete;
  LentMemory& operator=(const LentMemory&) = delete;

  void open(const void* memory, std::size_t size) noexcept;
  void close(const void* memory, std::size_t size) noexcept;

  /// Whether all of these bytes, the first of which lies in the range, are open.
  bool holds(std::uintptr_t at, std::size_t size) const {
    if (units_ == nullptr) return true;
    const std::size_t first = at - begin_, end = first + size;
    if (first % kUnit == 0 && size % kUnit == 0 &&
        size <= kUnit * sizeof(kOpenUnits)) {  // nearly always
      return std::memcmp(units_ + first / kUnit, kOpenUnits, size / kUnit) == 0;
    }
    for (std::size_t unit = first / kUnit; (unit + 1) * kUnit <= end; ++unit) {
      if (units_[unit] != kUnit) return false;
    }
    return end % kUnit == 0 || units_[end / kUnit] >= end % kUnit;
  }
  /// Describes where bytes that are not open lie.
  std::string place_of(std::uintptr_t at, std::size_t size) const;

 private:
  static constexpr std::size_t kUnit = 4;
  static constexpr std::uint8_t kOpenUnits[] = {kUnit, kUnit, kUnit, kUnit};  // of a float4
  std::size_t offset_of(const void* memory) const {
    return reinterpret_cast<std::uintptr_t>(memory) - begin_;
  }

  std::uintptr_t begin_;
  std::size_t size_;
  std::uint8_t* units_ = nullptr;
};

}  // namespace dynet_like::detail::cuda::host

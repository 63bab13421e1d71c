// One byte for every four bytes of the device's memory.
#include "dynet_like/device/cuda/host/lent_memory.h"

#include <sys/mman.h>

#include <cstring>

#include "dynet_like/core/counted.h"

namespace dynet_like::detail::cuda::host {

// If so many addresses cannot be reserved, everything counts as open.
LentMemory::LentMemory(const std::byte* memory, std::size_t size)
    : begin_(reinterpret_cast<std::uintptr_t>(memory)), size_(size) {
  void* const units = ::mmap(nullptr, size / kUnit, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (units != MAP_FAILED) units_ = static_cast<std::uint8_t*>(units);
}
LentMemory::~LentMemory() {
  if (units_ != nullptr) ::munmap(units_, size_ / kUnit);
}

void LentMemory::open(const void* memory, std::size_t size) noexcept {
  if (units_ == nullptr) return;
  std::uint8_t* const units = units_ + offset_of(memory) / kUnit;
  std::memset(units, kUnit, size / kUnit);
  if (size % kUnit != 0) units[size / kUnit] = static_cast<std::uint8_t>(size % kUnit);
}

// The end of the kept part of a value need not be a multiple of kUnit.
void LentMemory::close(const void* memory, std::size_t size) noexcept {
  if (units_ == nullptr || size == 0) return;
  const std::size_t begin = offset_of(memory), end = begin + size;
  const std::size_t first = (begin + kUnit - 1) / kUnit;
  if (begin % kUnit != 0) units_[begin / kUnit] = static_cast<std::uint8_t>(begin % kUnit);
  const std::size_t last = (end + kUnit - 1) / kUnit;
  if (last > first) std::memset(units_ + first, 0, last - first);
}

std::string LentMemory::place_of(std::uintptr_t at, std::size_t size) const {
  std::size_t first = at - begin_;
  while (size > 1 && holds(begin_ + first, 1)) ++first, --size;  // the first bytes may be open
  std::size_t unit = first / kUnit;
  if (units_[unit] == 0) {
    while (unit > 0 && units_[unit - 1] == 0) --unit;
    if (unit == 0) return "where no value is";
    --unit;
  }
  const std::size_t end = unit * kUnit + units_[unit];
  while (unit > 0 && units_[unit - 1] == kUnit) --unit;
  return counted(first - end, "byte") + " behind a value of " + counted(end - unit * kUnit, "byte");
}

}  // namespace dynet_like::detail::cuda::host

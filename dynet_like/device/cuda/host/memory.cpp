// The address range: reserved once, and open while launches and copies run.
#include "dynet_like/device/cuda/host/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::detail::cuda::host {

namespace {

constexpr std::size_t kAlignment = 256, kGap = 64;
constexpr std::size_t kStep = std::size_t{2} << 20;  // in which memory is taken into use: a huge
                                                     // page
// Closing is a system call that takes microseconds. After so many of them the memory stays open, so
// that long tests end in time.
constexpr std::size_t kMostCloses = 20000;

std::size_t round_up(std::size_t size, std::size_t unit) { return (size + unit - 1) / unit * unit; }

void fill_with_nans(std::byte* memory, std::size_t size) { std::memset(memory, 0xff, size); }

}  // namespace

Memory::Memory(std::size_t size) {
  for (size_ = round_up(size, kStep); size_ >= kStep; size_ = round_up(size_ / 4, kStep)) {
    range_ = ::mmap(nullptr, size_ + kStep, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                    -1, 0);
    if (range_ != MAP_FAILED) {
      base_ =
          reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(range_), kStep));
      // Huge pages make it faster to change the protection.
      ::madvise(base_, size_, MADV_HUGEPAGE);
      return;
    }
    if (size_ == kStep) break;
  }
  throw DeviceError("[cuda-host] need addresses for " + counted(size, "byte") +
                    "; got none from the system");
}

Memory::~Memory() { ::munmap(range_, size_ + kStep); }

void* Memory::allocate(std::size_t size) {
  const auto no_room = [&] {
    return DeviceError("[cuda-host] need " + counted(size, "byte") +
                       " of device memory; got a range of " + counted(size_, "byte") +
                       ", of which " + std::to_string(bytes_in_use_) + " are in use");
  };
  if (size > size_) throw no_room();
  const std::size_t held = round_up(size + kGap, kAlignment);
  auto place = std::find_if(free_.begin(), free_.end(),
                            [&](const auto& free) { return free.second >= held; });
  if (place == free_.end()) {
    const bool at_end = !free_.empty() && free_.rbegin()->first + free_.rbegin()->second == end_;
    const std::size_t missing = held - (at_end ? free_.rbegin()->second : 0);
    if (missing > size_ - end_) throw no_room();
    grow(missing);
    place = std::prev(free_.end());
  }
  const auto [offset, room] = *place;
  allocations_.emplace(offset, Allocation{size, held});
  free_.erase(place);
  if (room > held) free_.emplace(offset + held, room - held);
  bytes_in_use_ += size;
  std::byte* const memory = base_ + offset;
  open();
  fill_with_nans(memory, size);
  close();
  return memory;
}

void Memory::free(void* memory) {
  if (memory == nullptr) return;
  const std::size_t offset = static_cast<std::size_t>(static_cast<std::byte*>(memory) - base_);
  const auto found = allocations_.find(offset);
  if (found == allocations_.end()) {
    throw DeviceError("[cuda-host] need memory of the device to free; got another address");
  }
  const Allocation allocation = found->second;
  allocations_.erase(found);
  bytes_in_use_ -= allocation.size;
  open();
  fill_with_nans(base_ + offset, allocation.held);
  close();
  give_back(offset, allocation.held);
}

// Takes at least `size` more bytes of the range into use, joined to a free place at the end.
void Memory::grow(std::size_t size) {
  const std::size_t end = std::min(round_up(end_ + size, kStep), size_);
  const std::size_t begin = end_;
  end_ = end;
  protect(depth_ > 0 || closes_ > kMostCloses ? PROT_READ | PROT_WRITE : PROT_NONE);
  give_back(begin, end - begin);
}

void Memory::give_back(std::size_t offset, std::size_t size) {
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + size) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_.emplace_hint(next, offset, size);
}

void Memory::protect(int access) {
  if (end_ == 0 || ::mprotect(base_, end_, access) == 0) return;
  throw DeviceError("[cuda-host] need " + counted(end_, "byte") +
                    " of memory; got: " + std::strerror(errno));
}

void Memory::open() {
  if (depth_ == 0 && closes_ <= kMostCloses) protect(PROT_READ | PROT_WRITE);
  ++depth_;
}

void Memory::close() noexcept {
  if (--depth_ > 0 || end_ == 0 || ++closes_ > kMostCloses) return;
  ::mprotect(base_, end_, PROT_NONE);
}

bool Memory::has_address(const void* at) const {
  return !std::less<const void*>()(at, base_) && std::less<const void*>()(at, base_ + size_);
}

std::size_t Memory::size_at(const void* begin) const {
  if (!has_address(begin)) return 0;
  const auto found =
      allocations_.find(static_cast<std::size_t>(static_cast<const std::byte*>(begin) - base_));
  return found == allocations_.end() ? 0 : found->second.size;
}

bool Memory::holds(const void* at, std::size_t size) const {
  if (!has_address(at)) return false;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(at) - base_);
  auto next = allocations_.upper_bound(offset);
  if (next == allocations_.begin()) return false;
  const auto& [begin, allocation] = *--next;
  return offset - begin <= allocation.size && size <= allocation.size - (offset - begin);
}

}  // namespace dynet_like::detail::cuda::host

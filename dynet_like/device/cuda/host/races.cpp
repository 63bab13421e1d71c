// Records the accesses of threads; contains what the compiler's hooks call.
#include "dynet_like/device/cuda/host/races.h"

#include <dlfcn.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <utility>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail::cuda::host {

namespace {

constexpr std::size_t kUnit = 4;
constexpr unsigned kLanes = 32;
// Several readers: of one warp (plus the warp's number), of one block, of several blocks.
constexpr std::uint16_t kManyOfWarp = 0x800, kManyOfBlock = 0xfff;
constexpr std::uint32_t kManyBlocks = 0xffffffffu;

unsigned warp_of(std::uint16_t thread) {
  return thread >= kManyOfWarp ? thread - kManyOfWarp : thread / kLanes;
}

// The address of code in its file, from which addr2line finds the line.
struct Line {
  explicit Line(const void* code) {
    ::Dl_info info = {};
    ::dladdr(code, &info);
    if (info.dli_fname != nullptr) file = info.dli_fname;
    offset = static_cast<std::size_t>(static_cast<const char*>(code) -
                                      static_cast<const char*>(info.dli_fbase));
  }
  const char* file = "?";
  std::size_t offset;
};

}  // namespace

// If so many addresses cannot be reserved, only shared memory of blocks is checked.
Races::Races(const std::byte* memory, std::size_t size, const LentMemory& lent) : lent_(lent) {
  void* const visits = ::mmap(nullptr, size / kUnit * sizeof(Visits), PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (visits == MAP_FAILED) return;
  device_ = {reinterpret_cast<std::uintptr_t>(memory), size, static_cast<Visits*>(visits)};
}
Races::~Races() {
  if (device_.visits != nullptr) ::munmap(device_.visits, device_.size / kUnit * sizeof(Visits));
}

void Races::share(const std::byte* memory, std::size_t size, Visits* visits) {
  if (shared_count_ == kMostShared)
    throw DeviceError("[cuda-host] need at most 16 shared arrays; got more");
  shared_[shared_count_++] = {reinterpret_cast<std::uintptr_t>(memory), size, visits};
}

// Whether nothing orders this visit before the access that the thread makes now.
bool Races::is_beside(const Visit& visit, std::uint8_t bytes) const {
  if (visit.launch != moment.launch || (visit.bytes & bytes) == 0) return false;
  if (visit.block != moment.block) return true;
  if (visit.thread == moment.thread || visit.barriers != moment.barriers) return false;
  const bool same_warp =
      visit.thread != kManyOfBlock && warp_of(visit.thread) == moment.thread / kLanes;
  return !same_warp || visit.warp_barriers == moment.warp_barriers;
}

// A reader beside earlier readers is noted as several. (Of threads that read other bytes of the
// four, only the last is known.)
void Races::note_read(Visit& visit, std::uint8_t bytes) const {
  const Visit before = visit;
  visit = {moment.launch,        moment.block,  moment.barriers,
           moment.warp_barriers, moment.thread, bytes};
  if (!is_beside(before, bytes)) return;
  visit.bytes |= before.bytes;
  if (before.block != moment.block) {
    visit.block = kManyBlocks;
    return;
  }
  const bool same_warp =
      before.thread != kManyOfBlock && warp_of(before.thread) == moment.thread / kLanes;
  visit.thread = same_warp ? kManyOfWarp + moment.thread / kLanes : kManyOfBlock;
}

void Races::visit(const Range* range, std::uintptr_t at, std::size_t size, bool writes,
                  const void* code) noexcept {
  if (range == nullptr) return;
  const bool is_shared = range != &device_;
  if (must_wait_ && !is_shared && !has_waited()) note_early(code);
  const std::size_t first = at - range->begin, end = first + size;
  for (std::size_t unit = first / kUnit; unit * kUnit < end; ++unit) {
    const std::size_t from = std::max(first, unit * kUnit) - unit * kUnit;
    const std::size_t to = std::min(end, (unit + 1) * kUnit) - unit * kUnit;
    const auto bytes = static_cast<std::uint8_t>((1u << to) - (1u << from));
    Visits& visits = range->visits[unit];
    // Every block has its own shared memory.
    if (is_shared && visits.write.block != moment.block) visits.write = {};
    if (is_shared && visits.read.block != moment.block) visits.read = {};
    if (is_beside(visits.write, bytes)) note(visits.write, true, writes, code);
    if (!writes) {
      note_read(visits.read, bytes);
      continue;
    }
    if (is_beside(visits.read, bytes)) note(visits.read, false, true, code);
    visits.write = {moment.launch,        moment.block,  moment.barriers,
                    moment.warp_barriers, moment.thread, bytes};
  }
}

void Races::note_outside(std::uintptr_t at, std::size_t size, bool writes,
                         const void* code) noexcept {
  if (fault_[0] != 0) return;
  const Line line(code);
  std::snprintf(fault_, sizeof(fault_),
                "[cuda-host] need accesses within values; got a %s of %zu bytes by thread %u of "
                "block %u, %s (0x%zx in %s)",
                writes ? "write" : "read", size, unsigned{moment.thread}, moment.block,
                lent_.place_of(at, size).c_str(), line.offset, line.file);
}

void Races::note(const Visit& other, bool other_writes, bool writes, const void* code) noexcept {
  if (fault_[0] != 0) return;
  const Line line(code);
  std::snprintf(fault_, sizeof(fault_),
                "[cuda-host] need a barrier between threads where one of them writes; got a %s by "
                "thread %u of block %u beside a %s by thread %u of block %u (0x%zx in %s)",
                writes ? "write" : "read", unsigned{moment.thread}, moment.block,
                other_writes ? "write" : "read", unsigned{other.thread}, other.block, line.offset,
                line.file);
}

void Races::note_early(const void* code) noexcept {
  if (fault_[0] != 0) return;
  const Line line(code);
  std::snprintf(fault_, sizeof(fault_),
                "[cuda-host] need wait_for_earlier before the memory of the device is touched; got "
                "an access by thread %u of block %u (0x%zx in %s)",
                unsigned{moment.thread}, moment.block, line.offset, line.file);
}

void Races::note_misaligned(std::uintptr_t at, std::size_t alignment, const char* file,
                            unsigned line) noexcept {
  if (fault_[0] != 0) return;
  std::snprintf(fault_, sizeof(fault_),
                "[cuda-host] need an address that is a multiple of %zu; got one that is %zu beyond "
                "at %s:%u",
                alignment, at % alignment, file, line);
}

void Races::check(const char* kernel) {
  if (fault_[0] == 0) return;
  const std::string fault = fault_;
  fault_[0] = 0;
  throw DeviceError(fault + " of " + kernel);
}

}  // namespace dynet_like::detail::cuda::host

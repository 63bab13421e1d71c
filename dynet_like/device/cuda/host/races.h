// Finds two threads of a launch that access one address, one of them writing, unsynchronised.
//
// The compiler reports every access of a kernel, as for its thread sanitizer. For every four bytes
// the last write and the last reads are known, with the times of their threads: how many barriers
// their block has passed, and how many their warp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "dynet_like/device/cuda/host/lent_memory.h"
#include "dynet_like/device/cuda/host/own_memory.h"
#include "dynet_like/device/cuda/host/words.h"

namespace dynet_like::detail::cuda::host {

/// Which thread accessed some bytes, and when.
struct Visit {
  std::uint32_t launch = 0, block = 0;
  std::uint32_t barriers = 0;
  std::uint16_t warp_barriers = 0;
  std::uint16_t thread : 12 = 0, bytes : 4 = 0;  ///< in its block; which of the four bytes
};
struct Visits {
  Visit write, read;
};

/// The present time of the running thread.
struct Moment {
  std::uint32_t launch = 0, block = 0;
  std::uint32_t barriers = 0;
  std::uint16_t warp_barriers = 0;
  std::uint16_t thread = 0;
};

class Races {
 public:
  /// For the launch on the calling thread; null: accesses are not checked.
  static Races*& running() { return running_; }

  /// For the memory of a device, at addresses that are reserved once; `lent` knows what is
  /// accessible.
  Races(const std::byte* memory, std::size_t size, const LentMemory& lent);
  ~Races();
  Races(const Races&) = delete;
  Races& operator=(const Races&) = delete;

  /// Begins a launch. Accesses outside values are always looked for; looking for races costs more.
  /// `must_wait`: the kernel may begin before earlier ones have ended, so no thread may access the
  /// device's memory before it has waited for them.
  void begin_launch(bool looks_for_races, bool must_wait) {
    ++moment.launch;
    looks_ = looks_for_races;
    must_wait_ = must_wait;
  }
  void note_wait() { waits_[moment.thread] = {moment.launch, moment.block}; }
  void access(std::uintptr_t at, std::size_t size, bool writes, const void* code) noexcept {
    const bool is_in_device = at - device_.begin < device_.size;
    if (is_in_device && !lent_.holds(at, size)) [[unlikely]]
      note_outside(at, size, writes, code);
    if (looks_) visit(is_in_device ? &device_ : shared_at(at), at, size, writes, code);
  }
  /// Registers memory that the threads of a block share, and the visits to it.
  void share(const std::byte* memory, std::size_t size, Visits* visits);
  void unshare() { shared_count_ = 0; }
  void note_misaligned(std::uintptr_t at, std::size_t alignment, const char* file,
                       unsigned line) noexcept;
  /// Throws DeviceError, with the name of the kernel, if a fault was found.
  void check(const char* kernel);

  Moment moment;

 private:
  // Fast to read, because every access of a kernel reads it.
  static inline thread_local constinit Races* running_ __attribute__((tls_model("initial-exec"))) =
      nullptr;

  struct Range {
    std::uintptr_t begin = 0;
    std::size_t size = 0;
    Visits* visits = nullptr;
  };
  struct Wait {
    std::uint32_t launch = 0, block = 0;
  };
  bool has_waited() const {
    const Wait& wait = waits_[moment.thread];
    return wait.launch == moment.launch && wait.block == moment.block;
  }
  void note_early(const void* code) noexcept;
  const Range* shared_at(std::uintptr_t at) const {
    for (unsigned i = 0; i < shared_count_; ++i) {
      if (at - shared_[i].begin < shared_[i].size) return &shared_[i];
    }
    return nullptr;
  }
  void visit(const Range* range, std::uintptr_t at, std::size_t size, bool writes,
             const void* code) noexcept;
  bool is_beside(const Visit& visit, std::uint8_t bytes) const;
  void note_read(Visit& visit, std::uint8_t bytes) const;
  void note_outside(std::uintptr_t at, std::size_t size, bool writes, const void* code) noexcept;
  void note(const Visit& other, bool other_writes, bool writes, const void* code) noexcept;

  static constexpr unsigned kMostShared = 16, kMostThreads = 1024;
  Wait waits_[kMostThreads];  ///< the last wait of each thread of a block
  bool must_wait_ = false;
  Range device_, shared_[kMostShared];
  unsigned shared_count_ = 0;
  bool looks_ = false;
  const LentMemory& lent_;
  char fault_[400] = {};  // of fixed size, because an access must not throw
};

}  // namespace dynet_like::detail::cuda::host

// Records which memory arenas hand out and take back, in the order of a stream's calls.
//
// Work runs late: when a kernel runs, the arena may have taken its memory back and handed it out
// again. So each call notes the time at which it was made, and its kernel may access the memory
// that was lent at that time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "dynet_like/device/cuda/host/own_memory.h"

struct CUstream_st;

namespace dynet_like::detail::cuda {

namespace host {
class LentMemory;
}

class Loans {
 public:
  /// Bytes that an arena leaves unused behind every allocation.
  static constexpr std::size_t kGap = 64;

  /// When a call was made, counted in notes. It may access memory that was lent during this period,
  /// and also memory that was taken back during it.
  struct Period {
    std::uint64_t from = 0, to = 0;
  };

  void lend(const void* memory, std::size_t size);
  /// If there is no memory for the note, the memory counts as still lent.
  void take_back(const void* memory, std::size_t size) noexcept;

  /// The call at this index of the list is made now.
  void expect_call(std::size_t place);
  /// The calls in between may have been made at any time since the previous call.
  void begin_late_calls();
  void end_late_calls();
  /// The calls of the list now run, from the first on; each is one piece of work.
  void begin_calls();
  void end_calls() noexcept;

  // Called by the driver.
  /// The period of the call whose work is being queued now.
  Period next_call();
  /// Updates `memory` to the state at that time. Periods must come in order.
  void bring(const Period& asked, host::LentMemory& memory);
  /// Memory was freed: its notes no longer apply.
  void forget(const void* memory, std::size_t size) noexcept;

 private:
  struct Note {
    const std::byte* memory;
    std::size_t size;
    bool lends;
  };

  std::mutex mutex_;  ///< notes are added while work of the stream runs
  std::deque<Note, host::OwnMemory<Note>> notes_;
  std::uint64_t brought_ = 0;  ///< the number of notes that `bring` has applied and removed
  std::uint64_t last_call_ = 0, late_since_ = 0;
  bool late_ = false, in_calls_ = false;
  std::vector<Period, host::OwnMemory<Period>> expected_;  ///< by index in the list
  std::size_t next_ = 0;
};

Loans& loans_of(CUstream_st* stream);

}  // namespace dynet_like::detail::cuda

// What arenas hand out and take back, in the order in which a stream's work is asked for.
//
// Work runs late: memory may have been taken back, and handed out to others, when a kernel runs
// that was asked for before. So it is noted when that was, and a kernel sees what held when it was
// asked for.
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
  /// Bytes behind everything that an arena hands out.
  static constexpr std::size_t kGap = 64;

  /// When something was asked for, counted in notes. What was lent in the meantime it may touch,
  /// too, and what was taken back in the meantime it may still touch.
  struct Period {
    std::uint64_t from = 0, to = 0;
  };

  void lend(const void* memory, std::size_t size);
  /// If there is no memory to note it in, what was taken back may still be touched.
  void take_back(const void* memory, std::size_t size) noexcept;

  /// The call at this place of a list is asked for now.
  void expect_call(std::size_t place);
  /// Those in between could have been asked for any time since the last one.
  void begin_late_calls();
  void end_late_calls();
  /// The calls of the list are made, from the first on, each of them one piece of work.
  void begin_calls();
  void end_calls() noexcept;

  // For the driver.
  /// When the work that is queued now was asked for.
  Period next_call();
  /// Brings the memory to what it was then. Periods are in order.
  void bring(const Period& asked, host::LentMemory& memory);
  /// Memory was freed, of which there may be notes.
  void forget(const void* memory, std::size_t size) noexcept;

 private:
  struct Note {
    const std::byte* memory;
    std::size_t size;
    bool lends;
  };

  std::mutex mutex_;  ///< notes are made while work of the stream runs
  std::deque<Note, host::OwnMemory<Note>> notes_;
  std::uint64_t brought_ = 0;  ///< notes before the first of those
  std::uint64_t last_call_ = 0, late_since_ = 0;
  bool late_ = false, in_calls_ = false;
  std::vector<Period, host::OwnMemory<Period>> expected_;  ///< by place
  std::size_t next_ = 0;
};

Loans& loans_of(CUstream_st* stream);

}  // namespace dynet_like::detail::cuda

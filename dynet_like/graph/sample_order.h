// SampleOrder: distributes samples to threads, and preserves what depends on the order of samples.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <optional>
#include <vector>

#include "dynet_like/tape/type_cache.h"

namespace dynet_like::detail {

struct SampleFailure {
  std::size_t sample;
  std::exception_ptr exception;
};

/// Samples 0 to count - 1, each recorded by one thread. They begin in order, so that the first
/// sample that is being recorded never waits.
class SampleOrder : public Turn {
 public:
  explicit SampleOrder(std::size_t count) : is_done_(count) {}
  /// `is_done[i]`: nobody waits for sample i.
  explicit SampleOrder(std::vector<bool> is_done) : is_done_(std::move(is_done)) { go_on(); }

  /// The next sample, or nothing if there are no more or one has failed.
  std::optional<std::size_t> next();
  /// Call this when the sample was recorded, or has failed with an exception.
  void finish(std::size_t sample, std::exception_ptr failure = nullptr);

  void wait_for_those_before(std::size_t sample) override;

  /// The failure of the first sample that failed, if any. Call it after all threads have ended.
  const std::optional<SampleFailure>& failure() const { return failure_; }

 private:
  void go_on();

  std::mutex mutex_;
  std::condition_variable progress_;
  std::vector<bool> is_done_;
  std::size_t next_ = 0;        ///< the next to begin
  std::size_t first_open_ = 0;  ///< all before this one are done
  std::optional<SampleFailure> failure_;
};

}  // namespace dynet_like::detail

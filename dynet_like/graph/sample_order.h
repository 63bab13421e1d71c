// Hands out the samples of one call to several threads, and keeps what depends on their order.
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

/// Samples 0 to count - 1, each recorded by one thread. They are begun in order, so that the first
/// of those that are being recorded never waits.
class SampleOrder : public Turn {
 public:
  explicit SampleOrder(std::size_t count) : is_done_(count) {}
  /// Some of them need not be waited for.
  explicit SampleOrder(std::vector<bool> is_done) : is_done_(std::move(is_done)) { go_on(); }

  /// The next sample, or nothing if all have been handed out or one has failed.
  std::optional<std::size_t> next();
  /// The sample was recorded, or failed if there is an exception.
  void finish(std::size_t sample, std::exception_ptr failure = nullptr);

  void wait_for_those_before(std::size_t sample) override;

  /// Of the first sample that failed, or nothing; once all threads are done.
  const std::optional<SampleFailure>& failure() const { return failure_; }

 private:
  void go_on();

  std::mutex mutex_;
  std::condition_variable progress_;
  std::vector<bool> is_done_;
  std::size_t next_ = 0;        ///< to be handed out
  std::size_t first_open_ = 0;  ///< all before it are done
  std::optional<SampleFailure> failure_;
};

}  // namespace dynet_like::detail

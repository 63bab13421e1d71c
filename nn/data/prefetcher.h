// Items that a thread of its own prepares ahead, such as the minibatches of an epoch.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

/// Gives make(0), make(1), ... make(count - 1), in this order; a thread of its own makes the next
/// `ahead` of them while the caller works on one. What make reads must not change meanwhile, for it
/// runs in that thread. All members are for one caller at a time.
///
/// An epoch goes on where it was interrupted if the same minibatches are made again, from a Random
/// of the same seed and position, and the `position` is how many of them are done.
template <class T>
class Prefetcher {
 public:
  /// Begins with make(position). Throws UsageError unless `ahead` is above 0 and the position at
  /// most the count, and DeviceError if the system starts no thread.
  Prefetcher(std::size_t count, std::function<T(std::size_t)> make, std::size_t ahead = 4,
             std::size_t position = 0)
      : count_(count), ahead_(ahead), position_(position), make_(std::move(make)) {
    if (ahead == 0 || position > count || !make_) {
      throw UsageError("[Prefetcher] need a function, 1 item or more ahead, and a position up to " +
                       std::to_string(count) + "; got " + (make_ ? "a function, " : "none, ") +
                       std::to_string(ahead) + " and " + std::to_string(position));
    }
    try {
      thread_ = std::thread([this, position] { make_all(position); });
    } catch (const std::system_error&) {
      throw DeviceError("[Prefetcher] need a thread; the system starts none");
    }
  }
  /// Waits for the item that is being made, if there is one, and drops those that wait.
  ~Prefetcher() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Prefetcher(const Prefetcher&) = delete;
  Prefetcher& operator=(const Prefetcher&) = delete;

  /// The next item; nothing after the last one. Throws what make threw in its place, from then on
  /// at every call.
  std::optional<T> next() {
    if (position_ == count_) return {};
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !items_.empty() || failure_ != nullptr; });
    if (items_.empty()) std::rethrow_exception(failure_);
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    ++position_;
    lock.unlock();
    changed_.notify_all();
    return item;
  }

  /// How many items were given, those before the first position included.
  std::size_t position() const { return position_; }

 private:
  void make_all(std::size_t i) {
    try {
      for (; i < count_; ++i) {
        {
          std::unique_lock lock(mutex_);
          changed_.wait(lock, [this] { return stopped_ || items_.size() < ahead_; });
          if (stopped_) return;
        }
        T item = make_(i);
        const std::lock_guard lock(mutex_);
        items_.push_back(std::move(item));
        changed_.notify_all();
      }
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      changed_.notify_all();
    }
  }

  const std::size_t count_, ahead_;
  std::size_t position_;  // of the caller alone
  const std::function<T(std::size_t)> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
  std::exception_ptr failure_;
  bool stopped_ = false;
  std::thread thread_;  // begins when all else is there
};

}  // namespace dynet_like::nn

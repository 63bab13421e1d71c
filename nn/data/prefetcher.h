// Prepares items ahead in a thread of its own, such as the minibatches of an epoch.
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

/// Returns make(0), make(1), ... make(count - 1), in this order. A thread of its own makes the next
/// `ahead` items while the caller works on one, so data that `make` reads must not change
/// meanwhile. Only one thread at a time may call members.
///
/// To resume an epoch, make the same minibatches again, from a Random with the same seed and
/// position, and give the number of finished ones as `position`.
template <class T>
class Prefetcher {
 public:
  /// Begins with make(position). Throws UsageError unless `ahead` is above 0 and the position at
  /// most the count, and DeviceError if the system cannot start a thread.
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
  /// Waits for the item that is being made, if there is one, and drops the others.
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

  /// The next item; nothing after the last one. If make() threw, throws the same exception in place
  /// of its item, and at every later call.
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

  /// The number of items that were returned, plus the first position.
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
  std::size_t position_;  // used by the caller alone
  const std::function<T(std::size_t)> make_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
  std::exception_ptr failure_;
  bool stopped_ = false;
  std::thread thread_;  // last, so that all other members exist when it starts
};

}  // namespace dynet_like::nn

// Finds threads that use one object at once, at the cost of a load and two stores.
#pragma once

#include <atomic>

namespace dynet_like::detail {

/// Whether a thread is inside. There is no lock: two threads that enter within a nanosecond are not
/// seen, but programs that share what they must not do it thousands of times a second.
class OneThread {
 public:
  bool is_busy() const { return busy_.load(std::memory_order_relaxed); }
  /// Throws UsageError.
  void check() const {
    if (is_busy()) throw_busy();
  }

  /// Inside for as long as it lives.
  class Use {
   public:
    explicit Use(OneThread& one) : one_(one) {
      one.check();
      one.busy_.store(true, std::memory_order_relaxed);
    }
    ~Use() { one_.busy_.store(false, std::memory_order_relaxed); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    OneThread& one_;
  };

 private:
  [[noreturn]] static void throw_busy();

  std::atomic<bool> busy_ = false;
};

}  // namespace dynet_like::detail

// One thread at a time in what may not be shared: a second one is told so.
#pragma once

#include <atomic>

namespace dynet_like::detail {

/// Tells threads apart, by its address. There is one in all libraries and the program. It lies at a
/// fixed offset in a thread's storage (initial-exec), so that its address costs one instruction.
extern constinit thread_local char this_thread_mark [[gnu::tls_model("initial-exec")]];

/// Who may use something: a thread that is inside keeps all others out, and may enter again. It
/// costs an atomic operation that no other thread contends for, and less to enter again.
class OneThread {
 public:
  /// Inside for as long as it lives. Throws UsageError if another thread is.
  class Use {
   public:
    explicit Use(OneThread& one) {
      const void* nobody = nullptr;
      const void* const me = &this_thread_mark;
      if (one.owner_.load(std::memory_order_relaxed) == me) return;
      if (!one.owner_.compare_exchange_strong(nobody, me, std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
        throw_busy();
      }
      one_ = &one;
    }
    ~Use() {
      if (one_ != nullptr) one_->owner_.store(nullptr, std::memory_order_release);
    }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    OneThread* one_ = nullptr;  ///< null: the thread was inside before
  };

 private:
  [[noreturn]] static void throw_busy();

  std::atomic<const void*> owner_ = nullptr;
};

/// Whether what was recorded runs: meanwhile the thread that runs it must neither record nor run,
/// as a callback of the program might.
class Running {
 public:
  /// Throws UsageError.
  void check() const {
    if (is_running_.load(std::memory_order_relaxed)) throw_running();
  }

  class Use {
   public:
    explicit Use(Running& one) : one_(one) {
      one.check();
      one.is_running_.store(true, std::memory_order_relaxed);
    }
    ~Use() { one_.is_running_.store(false, std::memory_order_relaxed); }
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

   private:
    Running& one_;
  };

 private:
  [[noreturn]] static void throw_running();

  std::atomic<bool> is_running_ = false;
};

}  // namespace dynet_like::detail

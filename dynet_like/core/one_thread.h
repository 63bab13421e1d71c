// Checks that only one user at a time uses what must not be shared, and throws for a second one.
#pragma once

#include <atomic>

namespace dynet_like::detail {

/// The address of this variable identifies a thread. All libraries and the program share one
/// variable. It lies at a fixed offset in thread-local storage (initial-exec), so that taking its
/// address costs one instruction.
extern constinit thread_local char this_thread_mark [[gnu::tls_model("initial-exec")]];

/// A lock that throws instead of waiting: a thread that is inside keeps all others out and may
/// enter again. Entering costs one uncontended atomic operation; entering again costs less.
class OneThread {
 public:
  /// Enters for the lifetime of this object. Throws UsageError if another thread is inside.
  class Use {
   public:
    explicit Use(OneThread& one) {
      const void* nobody = nullptr;
      const void* const me = &this_thread_mark;
      if (one.owner_.load(std::memory_order_relaxed) == me) return;
      if (!one.owner_.compare_exchange_strong(nobody, me, std::memory_order_acquire,
                                              std::memory_order_relaxed)) {
        one.throw_busy();
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

  /// Keeps this thread out, too, for the lifetime of this object: while a function of the user is
  /// called that must not use it. The thread must be inside.
  class Closed {
   public:
    explicit Closed(OneThread& one)
        : one_(one), owner_(one.owner_.load(std::memory_order_relaxed)) {
      one.owner_.store(&one, std::memory_order_relaxed);
    }
    ~Closed() { one_.owner_.store(owner_, std::memory_order_relaxed); }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;

   private:
    OneThread& one_;
    const void* owner_;
  };
  /// Throws UsageError if it is closed.
  void check_open() const {
    if (owner_.load(std::memory_order_relaxed) == this) throw_closed();
  }

 private:
  [[noreturn]] void throw_busy() const;
  [[noreturn]] static void throw_closed();

  std::atomic<const void*> owner_ = nullptr;
};

/// Whether a recorded graph is running. Meanwhile its own thread must not record or run it, which a
/// callback of the program might try.
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

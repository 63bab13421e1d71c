// ThreadPool: every worker has a counter, on which it first spins and then sleeps.
#include "dynet_like/core/thread_pool.h"

#include <chrono>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

namespace {

constexpr std::chrono::microseconds kSpin(20);
constexpr int kPausesPerLook = 16;  // between two reads of the clock

void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Waits until the counter differs from `seen`; returns its new value.
std::uint32_t wait_for_change(const std::atomic<std::uint32_t>& counter, std::uint32_t seen) {
  const auto begin = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      const std::uint32_t now = counter.load(std::memory_order_acquire);
      if (now != seen) return now;
      pause();
    }
  } while (std::chrono::steady_clock::now() - begin < kSpin);
  counter.wait(seen, std::memory_order_acquire);
  return counter.load(std::memory_order_acquire);
}

constexpr unsigned kMostThreads = 4096;  // a wrong number must not take all memory first

unsigned others_of(unsigned threads) {
  if (threads > kMostThreads) {
    throw UsageError("[threads] need 0 to " + std::to_string(kMostThreads) +
                     " as GraphOptions::threads; got " + std::to_string(threads));
  }
  return threads > 1 ? threads - 1 : 0;
}

}  // namespace

struct alignas(64) ThreadPool::Worker {
  /// Odd: a part is offered. The thread that takes it makes the counter even.
  std::atomic<std::uint32_t> offers = 0;
  std::thread thread;

  void offer() {
    offers.fetch_add(1, std::memory_order_release);
    offers.notify_one();
  }
  bool take() {
    std::uint32_t now = offers.load(std::memory_order_relaxed);
    return now % 2 == 1 && offers.compare_exchange_strong(now, now + 1, std::memory_order_acquire);
  }
};

ThreadPool::ThreadPool(unsigned threads)
    : others_(others_of(threads)), workers_(others_ > 0 ? new Worker[others_] : nullptr) {
  unsigned started = 0;
  try {
    for (; started < others_; ++started) {
      workers_[started].thread = std::thread([this, part = started + 1] { serve(part); });
    }
  } catch (const std::system_error& error) {
    stop(started);
    throw DeviceError("[threads] need " + counted(others_, "thread") +
                      " beside the caller's; got " + std::to_string(started) + ", then " +
                      error.what() + ". Choose fewer with GraphOptions::threads");
  } catch (...) {
    stop(started);
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(others_); }

void ThreadPool::stop(unsigned started) {
  work_ = nullptr;
  for (unsigned i = 0; i < started; ++i) workers_[i].offer();
  for (unsigned i = 0; i < started; ++i) workers_[i].thread.join();
}

void ThreadPool::run(unsigned parts, const std::function<void(unsigned)>& work) {
  begin(parts, work);
  for (unsigned part = 1; part < parts; ++part) {
    if (workers_[part - 1].take()) finish(part);
  }
  wait();
}

void ThreadPool::run_on_own_threads(unsigned parts, const std::function<void(unsigned)>& work) {
  begin(parts, work);
  wait();
}

void ThreadPool::begin(unsigned parts, const std::function<void(unsigned)>& work) {
  work_ = &work;
  pending_.store(parts - 1, std::memory_order_relaxed);
  for (unsigned i = 0; i + 1 < parts; ++i) workers_[i].offer();
  call(0);
}

void ThreadPool::wait() {
  for (std::uint32_t left = pending_.load(std::memory_order_acquire); left != 0;) {
    left = wait_for_change(pending_, left);
  }
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// Keeps the first exception for the caller.
void ThreadPool::call(unsigned part) {
  try {
    (*work_)(part);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
}

void ThreadPool::finish(unsigned part) {
  call(part);
  pending_.fetch_sub(1, std::memory_order_acq_rel);
  pending_.notify_one();
}

void ThreadPool::serve(unsigned part) {
  Worker& worker = workers_[part - 1];
  for (std::uint32_t seen = 0;;) {
    seen = wait_for_change(worker.offers, seen);
    if (!worker.take()) continue;
    if (work_ == nullptr) return;
    finish(part);
    ++seen;
  }
}

}  // namespace dynet_like::detail

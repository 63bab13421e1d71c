// ThreadPool: one round of work at a time, under one mutex.
#include "dynet_like/device/cpu/thread_pool.h"

#include <utility>

namespace dynet_like::cpu {

ThreadPool::ThreadPool(unsigned threads) {
  for (unsigned part = 1; part < threads; ++part) {
    workers_.emplace_back([this, part] { serve(part); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(unsigned parts, const std::function<void(unsigned)>& work) {
  if (parts > 1) {
    {
      const std::lock_guard lock(mutex_);
      work_ = &work;
      parts_ = parts;
      pending_ = static_cast<unsigned>(workers_.size());
      ++round_;
    }
    start_.notify_all();
  }
  call(work, 0);
  std::unique_lock lock(mutex_);
  if (parts > 1) done_.wait(lock, [this] { return pending_ == 0; });
  if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
}

// The first exception of a round is the caller's, once all parts have ended.
void ThreadPool::call(const std::function<void(unsigned)>& work, unsigned part) {
  try {
    work(part);
  } catch (...) {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = std::current_exception();
  }
}

void ThreadPool::serve(unsigned part) {
  std::size_t seen = 0;
  std::unique_lock lock(mutex_);
  for (;;) {
    start_.wait(lock, [&] { return stop_ || round_ != seen; });
    if (stop_) return;
    seen = round_;
    if (part < parts_) {
      const auto* work = work_;
      lock.unlock();
      call(*work, part);
      lock.lock();
    }
    if (--pending_ == 0) done_.notify_one();
  }
}

}  // namespace dynet_like::cpu

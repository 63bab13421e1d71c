// A few threads that wait for work of one batch at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace dynet_like::cpu {

/// Runs a function on several threads, the caller's among them, and waits for all.
/// Waiting threads sleep, so that other processes lose nothing.
class ThreadPool {
 public:
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return static_cast<unsigned>(workers_.size()) + 1; }

  /// Calls work(part) once for every part in [0, parts), parts <= size(). Part 0 runs here. Throws
  /// what a part throws.
  void run(unsigned parts, const std::function<void(unsigned)>& work);

 private:
  void serve(unsigned part);
  void call(const std::function<void(unsigned)>& work, unsigned part);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(unsigned)>* work_ = nullptr;
  unsigned parts_ = 0, pending_ = 0;
  std::size_t round_ = 0;
  bool stop_ = false;
  std::exception_ptr failure_;
};

}  // namespace dynet_like::cpu

// A few threads that wait for the work of one caller at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>

namespace dynet_like::detail {

/// Runs a function on several threads, the caller's among them, and waits for all.
///
/// A waiting thread spins for about 20 microseconds, so that it starts work that comes soon within
/// one or two microseconds. Then it sleeps, so that it takes no time from other processes.
class ThreadPool {
 public:
  /// Throws UsageError for over 4,096 threads, DeviceError if the system cannot start as many.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return others_ + 1; }

  /// Calls work(part) once for every part in [0, parts), parts <= size(). The caller runs part 0,
  /// and then the parts that no other thread has begun, since such threads may be waiting for a
  /// processor. Returns, or throws the first exception of a part, after all parts have ended.
  void run(unsigned parts, const std::function<void(unsigned)>& work);
  /// The same, but each part always runs on the same thread: the caller waits for late threads.
  void run_on_own_threads(unsigned parts, const std::function<void(unsigned)>& work);

 private:
  struct Worker;

  void begin(unsigned parts, const std::function<void(unsigned)>& work);
  void wait();
  void stop(unsigned started);
  void serve(unsigned part);
  void call(unsigned part);
  void finish(unsigned part);

  const unsigned others_;
  std::unique_ptr<Worker[]> workers_;
  const std::function<void(unsigned)>* work_ = nullptr;  ///< null: the workers exit
  alignas(64) std::atomic<std::uint32_t> pending_ = 0;   ///< parts of other threads
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace dynet_like::detail

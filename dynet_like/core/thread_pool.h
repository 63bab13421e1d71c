// A few threads that wait for work, of one caller at a time.
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
/// A thread that waits spins for about 20 microseconds, so that work that comes soon is handed over
/// in one or two, and then sleeps, so that other processes lose nothing.
class ThreadPool {
 public:
  /// Throws DeviceError if the system does not start as many.
  explicit ThreadPool(unsigned threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  unsigned size() const { return others_ + 1; }

  /// Calls work(part) once for every part in [0, parts), parts <= size(). Part 0 runs here, and
  /// then those whose threads have not begun: they may have to wait for a processor. Throws what a
  /// part throws, once all have ended.
  void run(unsigned parts, const std::function<void(unsigned)>& work);
  /// The same, but a part always runs on the same thread: the caller waits for those that begin
  /// late.
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
  const std::function<void(unsigned)>* work_ = nullptr;  ///< null: the end
  alignas(64) std::atomic<std::uint32_t> pending_ = 0;   ///< parts of other threads
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace dynet_like::detail

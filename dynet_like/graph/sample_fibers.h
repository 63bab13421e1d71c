// Samples on fibers: each is plain code, and all wait for each other where they ask for values.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dynet_like/core/fiber.h"
#include "dynet_like/core/thread_pool.h"
#include "dynet_like/exec/needed.h"
#include "dynet_like/graph/sample_order.h"

namespace dynet_like::detail {

/// Where the graph of a sample that runs on a fiber gets its values.
class ValueWaiter {
 public:
  /// Stops the sample until all others have stopped, too, and these values of its graph were
  /// computed; writes them into `values`. Throws what computing them throws.
  virtual void wait_for(std::span<const ValueRef> refs, std::span<Tensor> values) = 0;
  /// For what changes the executor, which fibers of several threads have in common.
  virtual std::unique_lock<std::mutex> lock() = 0;

 protected:
  ~ValueWaiter() = default;
};

/// Runs samples wave by wave: all go on until each has stopped or ended, then what they stopped for
/// is computed together. Every thread has samples of its own. Keeps the fibers for later samples,
/// unless some have failed.
class SampleFibers {
 public:
  /// What is run, and who computes.
  struct Job {
    std::size_t count = 0;  ///< samples at once
    unsigned threads = 1;
    /// If given, no sample is there at first. Between waves, as long as there is room: whether one
    /// has come, which has this number until it ends. `idle`: nothing else is left to do.
    std::function<bool(std::size_t sample, bool idle)> take;
    /// Runs a sample from its beginning to its end; values come from the waiter.
    std::function<void(std::size_t sample, ValueWaiter& waiter)> run;
    /// With several threads: before a sample goes on, by the thread that it runs on.
    std::function<void(std::size_t sample, unsigned thread, Turn& turn)> prepare;
    /// Who uses the graphs of the samples of a thread, where there are several.
    std::function<OneThread&(unsigned thread)> user;
    std::function<void(std::span<const ValueRef>, std::size_t samples)> compute;
    std::function<Tensor(ValueRef)> read;
    std::function<TimelineTrack*()> track;  ///< of the calling thread
    /// When it has ended, between waves.
    std::function<void(std::size_t sample)> end;
  };
  /// A sample failed.
  struct Failure {
    std::size_t sample;
    std::exception_ptr exception;
  };

  explicit SampleFibers(std::size_t stack_bytes);
  ~SampleFibers();

  /// Returns when all samples have ended. If some fail, all others are unwound, and the first of
  /// those that failed in the same wave is returned.
  std::optional<Failure> run(const Job& job, ThreadPool& threads);
  /// Between runs: keeps the stacks of at most so many fibers per thread.
  void keep_stacks(std::size_t most);

 private:
  struct Sample;
  class Part;

  void take_samples();
  Part* part_with_most_room();
  bool is_idle() const;
  void resume_all();
  std::optional<Failure> first_failure() const;
  void collect_waiting();
  void run_wave();
  void compute_one_by_one();
  void unwind();

  const std::size_t stack_bytes_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::mutex executor_;
  // Of the run.
  const Job* job_ = nullptr;
  ThreadPool* threads_ = nullptr;
  bool unwinding_ = false;
  std::vector<Sample*> waiting_;  ///< in the order of the samples
  std::vector<ValueRef> wanted_;
};

}  // namespace dynet_like::detail

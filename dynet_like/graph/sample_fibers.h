// SampleFibers: runs samples on fibers, which wait for each other where they ask for values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "dynet_like/graph/minibatch.h"
#include "dynet_like/graph/minibatch_passes.h"

namespace dynet_like::detail {

/// Gives values to the graph of a sample that runs on a fiber.
class ValueWaiter {
 public:
  /// Suspends the sample until all others are suspended and these values of its graph were
  /// computed; writes them into `values`. Throws what computing them throws.
  virtual void wait_for(std::span<const ValueRef> refs, std::span<Tensor> values) = 0;
  /// A lock for calls that change the executor, which fibers of several threads share.
  virtual std::unique_lock<std::mutex> lock() = 0;

 protected:
  ~ValueWaiter() = default;
};

/// Runs samples of a minibatch in waves: all run until each has ended or waits for values; then
/// these values are computed together. Every thread has its own samples. Keeps the fibers for later
/// samples, unless a sample has failed.
class SampleFibers {
 public:
  using Run = Minibatch::RunSample;
  using Take = Minibatch::TakeSample;

  SampleFibers(SampleGraphs& samples, MinibatchPasses& passes);
  ~SampleFibers();

  /// Adds samples and runs them. If samples fail, all others are unwound, and the exception of the
  /// first that failed in that wave is rethrown. With `take`, samples arrive later: between waves,
  /// while there is room, `take(i, idle)` returns whether a sample has arrived, which has number i
  /// until it ends. `idle`: no sample runs.
  void run(std::size_t count, const Run& run, const Take* take = nullptr);
  /// The waves since the last `clear`, or since all samples were forgotten.
  void tell(Report& report) const;
  void clear();

 private:
  struct Sample;
  struct Job;
  class Part;

  std::optional<SampleFailure> run_job();
  bool take(std::size_t sample, bool idle);
  void take_samples();
  void end(std::size_t sample);
  Part* part_with_most_room();
  bool is_idle() const;
  void resume_all();
  std::optional<SampleFailure> first_failure() const;
  void collect_waiting();
  void run_wave();
  void compute(std::span<const ValueRef> values, std::size_t samples);
  void unwind();
  void keep_stacks(std::size_t most);
  void forget_waves();

  SampleGraphs& samples_;
  MinibatchPasses& passes_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::mutex executor_;
  std::vector<Report::Wave> waves_;  ///< see Report
  std::uint64_t wave_count_ = 0;
  // During a run:
  Job* job_ = nullptr;
  bool unwinding_ = false;
  std::vector<Sample*> waiting_;  ///< in the order of the samples
  std::vector<ValueRef> wanted_;
};

}  // namespace dynet_like::detail

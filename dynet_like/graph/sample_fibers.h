// Samples on fibers: each is plain code, and all wait for each other where they ask for values.
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

/// Runs samples of a minibatch wave by wave: all go on until each has stopped or ended, then what
/// they stopped for is computed together. Every thread has samples of its own. Keeps the fibers for
/// later samples, unless some have failed.
class SampleFibers {
 public:
  using Run = MinibatchAccess::RunSample;
  using Take = MinibatchAccess::TakeSample;

  SampleFibers(SampleGraphs& samples, MinibatchPasses& passes);
  ~SampleFibers();

  /// Adds samples and runs them. If some fail, all others are unwound, and the exception of the
  /// first of those that failed in the same wave is thrown on. With `take`, no sample is there at
  /// first: between waves, as long as there is room, it says whether one has come, which has this
  /// number until it ends. `idle`: nothing else is left to do.
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
  // Of the run.
  Job* job_ = nullptr;
  bool unwinding_ = false;
  std::vector<Sample*> waiting_;  ///< in the order of the samples
  std::vector<ValueRef> wanted_;
};

}  // namespace dynet_like::detail

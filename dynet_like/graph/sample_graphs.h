// The graphs of a minibatch, and what they have in common.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dynet_like/exec/executor.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/graph/sample_order.h"
#include "dynet_like/tape/tape_writer.h"

namespace dynet_like::detail {

/// A graph and a tape for each sample, all of the same types and run by one executor. Those that
/// were cleared are spare, for later samples.
class SampleGraphs {
 public:
  using Make = std::unique_ptr<ComputationGraph> (*)(TapeWriter&, Executor&);
  using Record = std::function<Expression(ComputationGraph& graph, std::size_t i)>;

  /// `make` makes graphs of a class of its own; null: plain ones.
  SampleGraphs(const GraphOptions& options, Make make);

  /// The graph of the next sample.
  ComputationGraph& add();
  /// The seeds of the first samples to come, after `clear`, and what those of all others follow
  /// from.
  void seed_samples(std::span<const std::uint64_t> seeds);
  void set_seed(std::uint64_t seed) { executor_.common().options.seed = seed; }
  /// That of a sample, by its number since the last `clear`.
  std::uint64_t seed_of(std::uint64_t sample) const;
  std::size_t size() const { return used_; }
  ComputationGraph& graph(std::size_t sample) const { return *samples_[sample].graph; }
  Tape& tape(std::size_t sample) const { return samples_[sample].writer->tape(); }
  Executor& executor() { return executor_; }
  const Executor& executor() const { return executor_; }
  bool has_much_to_forget() const { return types_->has_much_to_forget(); }

  /// Throw UsageError for an expression of another graph; the second throws StateError, too, if it
  /// is not there any more.
  void check(const Expression& e, const char* user) const;
  ValueRef ref(const Expression& e, const char* user) const;

  /// See Minibatch::record.
  std::vector<Expression> record(std::size_t count, const Record& record);
  using Work = std::function<std::optional<SampleFailure>(std::size_t first)>;
  /// Adds samples, from `first` on, which `work` records or runs beside each other. Meanwhile
  /// nothing else may be done with any. Throws what failed, with ", in sample N".
  void record_beside_others(std::size_t count, const Work& work);
  /// As many threads as are worth it; each has a cache of types of its own.
  unsigned use_threads(std::size_t samples);
  TypeCache& cache(unsigned thread) const { return *caches_[thread]; }

  /// A backward pass has added to these: graphs know the minibatch's `own` and those that they
  /// collect in. Null: to those of shards.
  void note_pass(const Gradients* gradients, const Gradients& own) const;
  /// Forgets what a sample has recorded, or all have: they are other samples from now on.
  void forget(std::size_t sample);
  void forget_all();
  /// All samples are spare from now on.
  void clear();

 private:
  template <class Part>
  friend class Alone;
  struct Sample {
    std::unique_ptr<TapeWriter> writer;
    std::unique_ptr<ComputationGraph> graph;
  };

  void check_not_recording(const char* user) const;
  void set_recording(bool recording);
  /// While nothing is recorded: forgets all types if some are of what is gone, or if they are many.
  void trim_types(bool ends_generation);

  const Make make_;
  std::shared_ptr<TypeTable> types_;
  std::vector<std::unique_ptr<TypeCache>> caches_;  ///< by thread; the first is the caller's
  std::atomic<bool> recording_ = false;
  Executor executor_;
  std::vector<Sample> samples_;
  std::size_t used_ = 0;  ///< those behind are spare
  std::vector<std::uint64_t> seeds_;
  std::uint64_t clears_ = 0;
};

/// A part of a minibatch, which this thread has to itself as long as it lives.
template <class Part>
class Alone {
 public:
  /// Throws UsageError if another thread uses the minibatch, it runs, or samples are being
  /// recorded.
  Alone(const SampleGraphs& samples, Part& part, const char* user)
      : use_((samples.check_not_recording(user), samples.types_->user)), part_(part) {
    samples.types_->runs.check();
  }
  Part* operator->() const { return &part_; }

 private:
  OneThread::Use use_;
  Part& part_;
};

}  // namespace dynet_like::detail

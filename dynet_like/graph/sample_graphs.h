// SampleGraphs: the graphs of a minibatch, and what they share.
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

/// A graph and a tape for each sample. All share one type table and one executor. Cleared ones are
/// kept as spares for later samples.
class SampleGraphs {
 public:
  using Make = std::unique_ptr<ComputationGraph> (*)(TapeWriter&, Executor&);
  using Record = std::function<Expression(ComputationGraph& graph, std::size_t i)>;

  /// `make` makes graphs of a derived class; null: plain graphs.
  SampleGraphs(const GraphOptions& options, Make make);
  ~SampleGraphs() { types_->user.check_open(); }  // what throws here ends the program

  /// The graph of the next sample.
  ComputationGraph& add();
  /// Sets the seeds of the first samples after `clear`; and the seed that those of all others
  /// follow from.
  void seed_samples(std::span<const std::uint64_t> seeds);
  void set_seed(std::uint64_t seed) { executor_.common().options.seed = seed; }
  /// The seed of a sample, by its number since the last `clear`.
  std::uint64_t seed_of(std::uint64_t sample) const;
  std::size_t size() const { return used_; }
  ComputationGraph& graph(std::size_t sample) const { return *samples_[sample].graph; }
  Tape& tape(std::size_t sample) const { return samples_[sample].writer->tape(); }
  Executor& executor() { return executor_; }
  const Executor& executor() const { return executor_; }
  bool has_much_to_forget() const { return types_->has_much_to_forget(); }

  /// Throw UsageError for an expression of another graph. `ref` also throws StateError if it was
  /// cleared or reverted.
  void check(const Expression& e, const char* user) const;
  ValueRef ref(const Expression& e, const char* user) const;

  /// See Minibatch::record.
  std::vector<Expression> record(std::size_t count, const Record& record);
  using Work = std::function<std::optional<SampleFailure>(std::size_t first)>;
  /// Adds samples, numbered from `first` on; `work` records or runs them in parallel. Nothing else
  /// may use the minibatch meanwhile. Throws the failure that `work` returns, with ", in sample N".
  void record_beside_others(std::size_t count, const Work& work);
  /// The number of threads to use. Makes a type cache for each.
  unsigned use_threads(std::size_t samples);
  TypeCache& cache(unsigned thread) const { return *caches_[thread]; }

  /// Tells the graphs where the last backward pass put its gradients. They can read `own`, of the
  /// minibatch, and those that they collect in. Null: gradients of shards.
  void note_pass(const Gradients* gradients, const Gradients& own) const;
  /// Forgets what one sample, or all, have recorded: their graphs serve other samples from now on.
  void forget(std::size_t sample);
  void forget_all();
  /// Makes all samples spare.
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
  /// Forgets all types if some belong to destroyed objects, or if there are many. Nothing may be
  /// recorded meanwhile.
  void trim_types(bool ends_generation);

  const Make make_;
  std::shared_ptr<TypeTable> types_;
  std::vector<std::unique_ptr<TypeCache>> caches_;  ///< by thread; the first is the caller's
  std::atomic<bool> recording_ = false;
  Executor executor_;
  std::vector<Sample> samples_;
  std::size_t used_ = 0;  ///< the rest are spare
  std::vector<std::uint64_t> seeds_;
  std::uint64_t clears_ = 0;
};

/// Access to a part of a minibatch, exclusive to this thread while the object lives.
template <class Part>
class Alone {
 public:
  /// Throws UsageError if another thread uses the minibatch, it runs, or samples are being
  /// recorded.
  Alone(const SampleGraphs& samples, Part& part, const char* user)
      : use_((samples.check_not_recording(user), samples.types_->user)), part_(part) {
    samples.types_->running.check();
  }
  Part* operator->() const { return &part_; }

 private:
  OneThread::Use use_;
  Part& part_;
};

}  // namespace dynet_like::detail

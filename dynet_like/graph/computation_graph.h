// ComputationGraph: the record of one sample, and what it computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/report/report.h"
#include "dynet_like/graph/graph_record.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like {

namespace detail {

class Executor;
class SampleFibers;
class SampleGraphs;
class ValueWaiter;
struct GraphMemory;

/// What runs a graph, and where the gradients are that it gave.
struct GraphRun {
  const GraphRecord& record;
  Executor& executor;               ///< its own, or that of all samples of its minibatch
  bool is_beside_others = false;    ///< its minibatch is inside record or for_each_sample
  ValueWaiter* waiter = nullptr;    ///< of its sample, while that runs in for_each_sample
  Gradients own{};                  ///< of passes without gradients of the caller,
  Gradients* collected = nullptr;   ///< unless they add to these, which outlive the graph
  const Gradients* last = nullptr;  ///< null: there was no pass, or they are the caller's

  /// The executor. Throws UsageError while it is not to be had: beside others, and in a function.
  Executor& executor_for(const char* user) const;
};

[[noreturn]] void throw_not_derived();

}  // namespace detail

/// Records operations and runs them when a value is asked for. Any number of graphs may be alive;
/// one graph is for one thread at a time. Graphs of a Minibatch run together.
class ComputationGraph {
 public:
  explicit ComputationGraph(const GraphOptions& options = {});
  /// With the options and the memory of a graph that is gone.
  explicit ComputationGraph(std::unique_ptr<detail::GraphMemory> memory);
  virtual ~ComputationGraph();
  ComputationGraph(const ComputationGraph&) = delete;
  ComputationGraph& operator=(const ComputationGraph&) = delete;

  /// Computes everything anew, with the parameters as they are now. In a minibatch all graphs
  /// forget their values. Inside for_each_sample nothing is forgotten: it is get_value there.
  Tensor forward(const Expression& last);
  /// Computes what has not been computed yet.
  Tensor get_value(const Expression& e);
  /// What values_of does, which see, for expressions of this graph.
  std::vector<Tensor> get_values(Expressions expressions);

  /// The gradients of a loss (the sum of its minibatch), valid until the next pass; `full`: inputs
  /// have gradients too, not only what depends on parameters. Throws ShapeError unless the loss is
  /// one number per minibatch element, StateError if a parameter changed since values were
  /// computed.
  const Gradients& backward(const Expression& loss, bool full = false);
  /// The same, added to gradients of the caller; the parameters' `gradient()` is not to be had
  /// then. If it throws, some may have been added: clear them.
  void backward(const Expression& loss, Gradients& gradients, bool full = false);
  Tensor get_gradient(const Expression& e) const;

  /// What all random numbers of the graph follow from now on, with the order in which they are
  /// recorded, and nothing else: the same seed is the same dropout in any minibatch, and alone.
  /// Throws UsageError if the graph has drawn some since it was made or cleared. `clear` forgets
  /// the seed.
  void set_seed(std::uint64_t seed);
  /// Random numbers for choices of the sample, which follow from the graph's seed, too; every call
  /// gives others. Throws UsageError if the graph has no seed: see GraphOptions::seed.
  Random random();

  /// `revert` forgets what was recorded since the last `checkpoint`; they nest.
  void checkpoint();
  void revert();
  /// Forgets all values but not what was recorded; in a minibatch, those of all graphs.
  void invalidate();
  /// In inference, gives the memory of what nodes `first` to `end` - 1 have computed to other
  /// values: those are the nodes that were recorded while `size` grew from `first` to `end`. A
  /// value of theirs that is asked for again is computed again. In training, does nothing.
  void forget_values(std::size_t first, std::size_t end);
  /// Forgets everything; all expressions become stale. Whatever was thrown before, even because
  /// memory ran out, the graph is as good as new then.
  void clear();

  /// From now on as GraphOptions::detect_anomaly; in a minibatch for all graphs.
  void detect_anomaly(bool detect);
  /// How nodes were batched so far; for graphs of a minibatch, of all of them.
  Report explain() const;
  /// Number of recorded nodes (views are none).
  std::size_t size() const;

  /// The derived class that a program made the graph as: it gets it back from expressions. Throws
  /// UsageError if it is another.
  template <DerivedGraph Derived>
  operator Derived&() {
    if (auto* const derived = dynamic_cast<Derived*>(this)) return *derived;
    detail::throw_not_derived();
  }

  /// For ops, and what looks at what was recorded.
  detail::GraphRecord& record() { return record_; }
  const detail::GraphRecord& record() const { return record_; }
  Expression expression(std::uint32_t value) {
    const detail::HandleSlot& slot = record_.slot();
    return {this, value, slot.generation.load(std::memory_order_relaxed), &slot};
  }

 protected:
  /// A spare graph of a minibatch, which has these for it.
  ComputationGraph(detail::TapeWriter& writer, detail::Executor& executor);
  /// Forgets what was recorded, when it is cleared or its minibatch is. Must not throw.
  virtual void forget_records();
  /// Forgets everything; after that the graph can only be destroyed.
  std::unique_ptr<detail::GraphMemory> take_memory();
  detail::GraphRun& run() { return run_; }

 private:
  friend class detail::SampleGraphs;
  friend class detail::SampleFibers;

  void forget_all();

  std::unique_ptr<detail::GraphMemory> own_;  ///< null in a minibatch
  detail::GraphRecord record_;
  detail::GraphRun run_;
  std::uint64_t clears_ = 0;
};

/// The values of expressions of one graph, which are computed together, in their order: for a beam
/// search, whose hypotheses need their scores at once. In for_each_sample the sample waits once for
/// all of them. Throws UsageError unless they are of one graph.
std::vector<Tensor> values_of(Expressions expressions);

template <DerivedGraph Derived>
GraphPointer::operator Derived*() const {
  return graph_ == nullptr ? nullptr : &graph_->operator Derived&();
}

}  // namespace dynet_like

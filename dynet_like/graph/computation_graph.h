// ComputationGraph: the record of one sample, and what it computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "dynet_like/core/random.h"
#include "dynet_like/report/report.h"
#include "dynet_like/graph/graph_run.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like {

namespace detail {

class SampleFibers;
class SampleGraphs;
struct GraphMemory;

[[noreturn]] void throw_not_derived();

}  // namespace detail

/// Records operations and runs them when a value is asked for. Any number of graphs may be alive;
/// one graph is for one thread at a time. Graphs of a Minibatch run together.
class ComputationGraph {
 public:
  explicit ComputationGraph(const GraphOptions& options = {});
  virtual ~ComputationGraph();
  ComputationGraph(const ComputationGraph&) = delete;
  ComputationGraph& operator=(const ComputationGraph&) = delete;

  /// The gradients of a loss (the sum of its minibatch), valid until the next pass; `full`: inputs
  /// have gradients too, not only what depends on parameters. Throws ShapeError unless the loss is
  /// one number per minibatch element, StateError if a parameter changed since values were
  /// computed.
  const Gradients& backward(const Expression& loss, bool full = false);
  /// The same, added to gradients of the caller; the parameters' `gradient()` is not to be had
  /// then. If it throws, some may have been added: clear them.
  void backward(const Expression& loss, Gradients& gradients, bool full = false);

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
  /// Forgets all values but not what was recorded; in a minibatch, those of all graphs. A value
  /// that is asked for next is computed anew, with the parameters as they are then.
  void invalidate();
  /// In inference, gives the memory of what nodes `first` to `end` - 1 have computed to other
  /// values: those are the nodes that were recorded while `size` grew from `first` to `end`. A
  /// value of theirs that is asked for again is computed again. In training, does nothing.
  void forget_values(std::size_t first, std::size_t end);
  /// Forgets everything; all expressions become stale. Whatever was thrown before, even because
  /// memory ran out, the graph is as good as new then.
  void clear();

  /// How nodes were batched so far; for graphs of a minibatch, of all of them.
  Report explain() const;
  /// Number of recorded nodes (views are none).
  std::size_t size() const;
  /// Whether there may be a backward pass: not with GraphOptions::inference.
  bool trains() const { return !record_.options().inference; }

  /// The derived class that a program made the graph as: it gets it back from expressions. Throws
  /// UsageError if it is another.
  template <DerivedGraph Derived>
  operator Derived&() {
    if (auto* const derived = dynamic_cast<Derived*>(this)) return *derived;
    detail::throw_not_derived();
  }

  /// For the library: what was recorded, and what runs it.
  detail::GraphRecord& record() { return record_; }
  const detail::GraphRecord& record() const { return record_; }
  detail::GraphRun& run() { return run_; }
  Expression expression(std::uint32_t value) {
    return detail::Handle::of(this, value, record_.slot());
  }

 protected:
  /// With the options and the memory of a graph that is gone.
  explicit ComputationGraph(std::unique_ptr<detail::GraphMemory> memory);
  /// A spare graph of a minibatch, which has these for it.
  ComputationGraph(detail::TapeWriter& writer, detail::Executor& executor);
  /// Forgets what was recorded, when it is cleared or its minibatch is. Must not throw.
  virtual void forget_records();
  /// Forgets everything; after that the graph can only be destroyed.
  std::unique_ptr<detail::GraphMemory> take_memory();

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

// ComputationGraph: records the operations of one sample and computes their values.
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
/// only one thread at a time may use a graph. The graphs of a Minibatch run together.
class ComputationGraph {
 public:
  explicit ComputationGraph(const GraphOptions& options = {});
  virtual ~ComputationGraph();
  ComputationGraph(const ComputationGraph&) = delete;
  ComputationGraph& operator=(const ComputationGraph&) = delete;

  /// The gradients of a loss (summed over its minibatch elements), valid until the next pass;
  /// `full`: inputs get gradients too, not only nodes that depend on parameters. Throws ShapeError
  /// unless the loss is one number per minibatch element, StateError if a parameter changed since
  /// values were computed.
  const Gradients& backward(const Expression& loss, bool full = false);
  /// The same, added to your `gradients`; then `gradient()` of a parameter throws. If this call
  /// throws, some gradients may have been added already: clear them.
  void backward(const Expression& loss, Gradients& gradients, bool full = false);

  /// From now on the random numbers of the graph depend on this seed and on the order in which they
  /// are recorded, and on nothing else: the same seed gives the same dropout in any minibatch, and
  /// alone. Throws UsageError if the graph has drawn random numbers since it was made or cleared.
  /// `clear` forgets the seed.
  void set_seed(std::uint64_t seed);
  /// A generator for random choices in your own code for the sample. It follows from the graph's
  /// seed; every call returns another sequence. Throws UsageError if the graph has no seed: see
  /// GraphOptions::seed.
  Random random();

  /// `revert` forgets everything recorded since the last `checkpoint`; checkpoints nest.
  void checkpoint();
  void revert();
  /// Forgets all values, but not the recorded operations; in a minibatch, the values of all graphs.
  /// A value that is asked for later is computed again, with the parameters as they are then.
  void invalidate();
  /// In inference, frees the values of nodes `first` to `end` - 1, for other values to use their
  /// memory; these nodes were recorded while `size` grew from `first` to `end`. If they have not
  /// run yet, each value is freed after its last reader has run: so a layer calls this for
  /// everything that it has recorded below its result. Many such nodes of a graph run part by part,
  /// so that their memory does not grow with their number. A freed value that is asked for again is
  /// computed again. Does nothing in training.
  void forget_values(std::size_t first, std::size_t end);
  /// Forgets everything; all expressions become stale. After any exception, even for lack of
  /// memory, a cleared graph works like a new one.
  void clear();

  /// How nodes were batched so far; in a minibatch, the nodes of all its graphs.
  Report explain() const;
  /// Number of recorded nodes; views do not count.
  std::size_t size() const;
  /// Whether a backward pass is possible: false with GraphOptions::inference.
  bool trains() const { return !record_.options().inference; }

  /// The graph as the class that your program derived from ComputationGraph. Throws UsageError if
  /// the graph is of another class.
  template <DerivedGraph Derived>
  operator Derived&() {
    if (auto* const derived = dynamic_cast<Derived*>(this)) return *derived;
    detail::throw_not_derived();
  }

  /// For the library: the record of operations, and what runs it.
  detail::GraphRecord& record() { return record_; }
  const detail::GraphRecord& record() const { return record_; }
  detail::GraphRun& run() { return run_; }
  Expression expression(std::uint32_t value) {
    return detail::Handle::of(this, value, record_.slot());
  }

 protected:
  /// Takes over the options and the memory of a graph that was destroyed.
  explicit ComputationGraph(std::unique_ptr<detail::GraphMemory> memory);
  /// A spare graph of a minibatch, which owns both arguments.
  ComputationGraph(detail::TapeWriter& writer, detail::Executor& executor);
  /// Called when the graph or its minibatch is cleared. Must not throw.
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

/// Computes several expressions of one graph together and returns their values in order, for
/// example the scores of all hypotheses of a beam search. In for_each_sample the sample waits only
/// once. Throws UsageError unless all are of one graph.
std::vector<Tensor> values_of(Expressions expressions);

template <DerivedGraph Derived>
GraphPointer::operator Derived*() const {
  return graph_ == nullptr ? nullptr : &graph_->operator Derived&();
}

}  // namespace dynet_like

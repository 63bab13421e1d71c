// ComputationGraph: the record of one sample, and what it computes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dynet_like/exec/options.h"
#include "dynet_like/report/report.h"
#include "dynet_like/graph/expression.h"
#include "dynet_like/ops/ops.h"
#include "dynet_like/params/gradients.h"

namespace dynet_like {

namespace detail {

class Executor;
class Tape;
class TapeWriter;
class TypeCache;
class TypeTable;
class ValueWaiter;
struct ValueRef;

/// What a graph works with, empty but for its memory: a later graph can begin with it.
struct GraphMemory {
  explicit GraphMemory(const GraphOptions& options);
  GraphMemory(std::unique_ptr<TypeCache> cache, std::unique_ptr<TapeWriter> writer,
              std::unique_ptr<Executor> executor);
  GraphMemory(GraphMemory&&) noexcept;
  GraphMemory& operator=(GraphMemory&&) noexcept;
  ~GraphMemory();

  std::unique_ptr<TypeCache> cache;
  std::unique_ptr<TapeWriter> writer;
  std::unique_ptr<Executor> executor;
};

/// What a graph of a Minibatch has in common with the others, and its number among them.
struct GraphPlace {
  std::shared_ptr<TypeTable> types;
  TypeCache& cache;
  Executor& executor;
  std::uint32_t sample;
};

}  // namespace detail

/// Records operations and runs them when a value is asked for. Any number of graphs may be alive;
/// one graph is for one thread at a time. Graphs of a Minibatch run together.
class ComputationGraph {
 public:
  explicit ComputationGraph(const GraphOptions& options = {});
  /// With the options and the memory of a graph that is gone.
  explicit ComputationGraph(detail::GraphMemory memory);
  virtual ~ComputationGraph();
  ComputationGraph(const ComputationGraph&) = delete;
  ComputationGraph& operator=(const ComputationGraph&) = delete;

  /// Computes everything anew, with the parameters as they are now. In a minibatch all graphs
  /// forget their values. Inside for_each_sample nothing is forgotten: it is get_value there.
  Tensor forward(const Expression& last);
  /// Computes what has not been computed yet.
  Tensor incremental_forward(const Expression& last) { return get_value(last); }
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

  /// Names a node in error messages.
  void label(const Expression& e, std::string name);
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
    throw_not_derived();
  }

  /// The shape of a value, with the minibatch dimension; valid until the graph is cleared. Throws
  /// UsageError if there is no such value.
  const Dim& dim_of(std::uint32_t value) const;

  /// For ops: what writes the tape, what was written, and an expression for one of its values.
  detail::TapeWriter& writer() {
    if (looks_at_calls_) look_at_call();
    return *writer_;
  }
  const detail::Tape& tape() const { return *tape_; }
  Expression expression(std::uint32_t value) {
    return {this, value, slot_->generation.load(std::memory_order_relaxed), slot_.get()};
  }
  /// Whether a handle that is not stale is still recorded.
  bool is_recorded(const Expression& e) const;
  bool has_random() const;
  bool verifies_batching() const;
  /// Whether it only records what a function of vertices does.
  bool records_a_function() const { return records_function_; }

 protected:
  /// From now on it only records what a function does, and never runs.
  void records_function() { records_function_ = true; }
  /// A spare graph of a minibatch: see Minibatch::make_graph.
  explicit ComputationGraph(const detail::GraphPlace& place);
  /// Forgets what was recorded, when it is cleared or its minibatch is. Must not throw.
  virtual void forget_records();
  /// Inside for_each_sample or Minibatch::record, where the executor is that of all samples.
  bool is_beside_others() const { return beside_others_ || waiter_ != nullptr; }
  /// Forgets everything; after that the graph can only be destroyed.
  detail::GraphMemory take_memory();
  /// Random nodes that run from now on draw other numbers: before everything is computed anew.
  void draw_anew();
  /// From now on `backward` adds to these, which outlive the graph, and parameters' gradients are
  /// read there.
  void collect_gradients_in(Gradients& gradients) { collected_ = &gradients; }

 private:
  friend class Minibatch;

  struct Checkpoint;
  struct LockedExecutor;
  /// From this generation on, values from `values` on are others.
  struct Revert {
    std::uint32_t generation, values;
  };

  detail::ValueRef ref(const Expression& e, const char* user) const;
  std::size_t values_kept_since(std::uint32_t generation) const;
  void forget_all();
  /// The executor. It is not to be had while samples are recorded beside each other.
  detail::Executor& executor(const char* user) const {
    if (records_function_) throw_records_function(user);
    if (is_beside_others()) throw_beside_others(user);
    return *executor_;
  }
  LockedExecutor locked(const char* user);
  [[noreturn]] static void throw_beside_others(const char* user);
  [[noreturn]] static void throw_records_function(const char* user);
  void use(bool in_use);
  void look_at_call();
  [[noreturn]] static void throw_not_derived();

  detail::OwnedHandleSlot slot_;
  std::unique_ptr<detail::TypeCache> own_cache_;
  std::unique_ptr<detail::TapeWriter> writer_;
  detail::Tape* tape_;  ///< the writer's
  std::unique_ptr<detail::Executor> own_executor_;
  detail::Executor* executor_;
  std::uint32_t index_ = 0;  ///< among the executor's tapes
  std::vector<Checkpoint> checkpoints_;
  std::vector<Revert> reverts_;  ///< those that still matter: later ones kept more
  /// Shapes with a minibatch dimension: those without lie in the type table.
  mutable std::map<std::pair<std::uint32_t, std::uint32_t>, Dim> minibatch_dims_;
  bool in_use_ = true;           ///< false for a spare graph of a minibatch
  bool looks_at_calls_ = false;  ///< what records must ask: it is spare, or places are recorded
  bool records_function_ = false;
  bool beside_others_ = false;             ///< its minibatch is inside Minibatch::record
  detail::ValueWaiter* waiter_ = nullptr;  ///< of its sample, while that runs in for_each_sample
  Gradients gradients_;
  Gradients* collected_ = nullptr;
  const Gradients* last_gradients_ = nullptr;  ///< where those of parameters are
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

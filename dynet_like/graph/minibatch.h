// Minibatch: many graphs that are planned and run together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/report/batch_picture.h"
#include "dynet_like/graph/computation_graph.h"

namespace dynet_like {

namespace detail {
class MinibatchPasses;
class SampleFibers;
class SampleGraphs;
}  // namespace detail

/// One graph per sample, with one plan and one backward pass over all of them. Results have the
/// same bits as if the samples ran one by one. Reuse a minibatch after `clear`: it keeps its
/// memory.
class Minibatch {
 public:
  class RecordSample;
  using RunSample = std::function<void(ComputationGraph& graph, std::size_t i)>;
  using TakeSample = std::function<bool(std::size_t i, bool idle)>;
  using OnComplete = std::function<void(const ParameterStorage&)>;
  /// How many losses were added since the last `clear`, and how many had a backward pass.
  struct Losses {
    std::size_t added = 0, trained = 0;
  };

  explicit Minibatch(const GraphOptions& options = {});
  virtual ~Minibatch();

  /// The graph of the next sample. It lives until the minibatch is cleared or destroyed.
  ComputationGraph& new_graph();
  std::size_t size() const;
  /// Its number of threads is never 0.
  const GraphOptions& options() const;
  /// Throws UsageError if there is no such sample.
  ComputationGraph& graph(std::size_t sample);

  /// Gives these seeds to the graphs of the first samples that will be added (see
  /// ComputationGraph::set_seed); they are forgotten with these samples. Throws UsageError if there
  /// are samples.
  void seed_samples(std::span<const std::uint64_t> seeds);

  /// Adds a term to the total loss: one number per minibatch element of its graph, else ShapeError
  /// is thrown. Throws UsageError if a trainer has used the gradients of backward() and the
  /// minibatch was not cleared since: the earlier terms would be trained on again.
  void add_loss(const Expression& loss);
  /// Records `count` new samples in parallel, with GraphOptions::threads threads: record(graph, i)
  /// records sample i into its graph and returns an expression of it. Returns these in order. All
  /// results are the same as if the samples were recorded one after the other.
  ///
  /// `record` may read shared data, such as parameters and layers, but must not write it. It cannot
  /// run anything: asking for values, or calling this minibatch, throws UsageError. If samples
  /// fail, the exception of the first is rethrown; the message of a library exception ends in ", in
  /// sample N", with N the index for graph(): i plus the number of samples before the call. The
  /// graphs keep what they recorded, until `clear`.
  std::vector<Expression> record(std::size_t count, const RecordSample& record);
  /// The same, and adds every returned expression as add_loss does; adds none if a sample fails.
  void add_losses(std::size_t count, const RecordSample& loss_of);
  /// Adds terms to the total loss, in this order; adds none if one of them is not a loss.
  void add_losses(std::span<const Expression> losses);
  Losses losses() const;
  /// Adds a new graph for each of `count` samples and calls run(graph, i), which may ask for
  /// values: see for_each_sample, which calls this. With `take`, `count` samples run at once, and
  /// others arrive: see for_each_arriving.
  void run_samples(std::size_t count, const RunSample& run, const TakeSample& take = {});
  /// Adds a value for `forward` to compute besides the losses. In inference `forward` keeps losses
  /// and outputs, and may free all other values; these are computed again if they are asked for.
  void add_output(const Expression& output);

  /// Computes the losses and outputs that are not computed yet, or all of them if a parameter has
  /// changed. Returns the sum of the losses (not their mean), added in the order of add_loss.
  ///
  /// If GraphOptions::memory_limit splits the minibatch into parts, each part runs forward and
  /// backward before the next one, and then its values are freed, including outputs. `backward()`
  /// then returns the gradients that were computed; `backward(gradients)` runs all parts again. In
  /// inference there is no backward pass, and losses and outputs are kept.
  ///
  /// `shards`: the ends of shards, for the backward pass that keeps their gradients apart. With
  /// GraphOptions::share_repeated, each shard then runs as a minibatch of its own.
  float forward(std::span<const std::uint32_t> shards = {});
  /// `forward` in two steps, for devices that run asynchronously: `start` begins it, `loss` waits
  /// for the result and returns it. You may call `backward` between them. `loss` throws UsageError
  /// unless `start` was called before, StateError if its values were freed.
  void start();
  float loss();
  /// The sum of the losses of samples `begin` to `end` - 1, in the order of add_loss. Throws the
  /// same exceptions as `loss`.
  double loss_of(std::uint32_t begin, std::uint32_t end);
  /// Throws NumericError if the sum of the losses that `forward` returned is not finite. The
  /// message names the first sample whose loss is not finite, and its first node with such a
  /// number, which it finds by computing the sample again. Costs nothing if the sum is finite.
  void check_finite_loss();
  /// Computes these expressions together, and keeps all values that this takes: for decoders and
  /// parsers, which read values and then record more. A call computes only nodes that are new. It
  /// ignores memory_limit.
  void compute(std::span<const Expression> expressions);
  void compute(std::initializer_list<Expression> expressions) {
    compute(std::span(expressions.begin(), expressions.size()));
  }
  /// The gradients of the total loss, valid until the next pass or `clear`. Throws StateError if a
  /// parameter has changed since `forward`, UsageError in inference, for samples without
  /// losses, and unless `forward` was called after the last add_loss.
  const Gradients& backward();
  /// The same, added to your `gradients`: on the CPU, accumulated minibatches give the same bits as
  /// one large one. If this throws, some gradients may have been added already: clear them. Throws
  /// UsageError if a trainer has used `gradients` and they were not cleared since.
  void backward(Gradients& gradients);
  /// The same with the gradients of each shard apart: shard i has the samples from shards[i - 1]
  /// (or 0) to shards[i] - 1. Adds its gradients to gradients[i], with the bits of a minibatch of
  /// these samples alone. With GraphOptions::share_repeated, `forward` must have got the same
  /// shards. `complete` is called for each parameter, tables aside, that only samples read, as soon
  /// as its gradients of all shards are complete and still in the cache. Also throws UsageError
  /// unless the ends never decrease, the last one is size(), and the minibatch runs as a whole (see
  /// memory_limit).
  void backward(std::span<const std::uint32_t> shards, std::span<Gradients> gradients,
                const OnComplete& complete = {});

  /// Forgets all graphs; their expressions become stale. Later graphs have other seeds. After any
  /// exception, even for lack of memory, a cleared minibatch works like a new one.
  void clear();

  /// How the nodes were batched since the last `clear`, or since for_each_arriving last freed the
  /// data of old samples.
  Report explain() const;
  /// An SVG picture of the batches: a row for every batch, a column for every sample. Throws
  /// UsageError if nothing has run since the last clear.
  std::string draw_batches(const BatchPicture& what = {}) const;
  /// In how many parts the last `forward` ran: 1 unless GraphOptions::memory_limit needs more, 0
  /// without samples or before `forward`.
  std::size_t parts() const;

 protected:
  /// Replaces GraphOptions::seed, for graphs that will be added.
  void set_seed(std::uint64_t seed);
  /// A minibatch whose graphs are of a derived class: `make` makes them.
  Minibatch(const GraphOptions& options,
            std::unique_ptr<ComputationGraph> (*make)(detail::TapeWriter&, detail::Executor&));

 private:
  std::unique_ptr<detail::SampleGraphs> samples_;
  std::unique_ptr<detail::MinibatchPasses> passes_;
  std::unique_ptr<detail::SampleFibers> fibers_;
};

/// A function f(graph, i) that records sample i and returns an expression of it.
class Minibatch::RecordSample
    : public std::function<Expression(ComputationGraph& graph, std::size_t i)> {
 public:
  template <class F>
  requires(!std::is_base_of_v<RecordSample, std::remove_cvref_t<F>>) RecordSample(F&& f) {
    constexpr bool fits = std::is_invocable_r_v<Expression, F&, ComputationGraph&, std::size_t>;
    static_assert(fits,
                  "need a function (ComputationGraph& graph, std::size_t i) that returns an "
                  "Expression");
    if constexpr (fits) function::operator=(std::forward<F>(f));
  }
};

}  // namespace dynet_like

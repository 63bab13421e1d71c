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
struct MinibatchAccess;
}  // namespace detail

/// One graph per sample, one plan and one backward pass over all of them. Results are the same bits
/// as those of the samples run one by one. Clear it and use it again: it keeps its memory.
class Minibatch {
 public:
  class RecordSample;

  explicit Minibatch(const GraphOptions& options = {});
  virtual ~Minibatch();

  /// The graph of the next sample. It lives until the minibatch is cleared or destroyed.
  ComputationGraph& new_graph();
  std::size_t size() const;
  /// Throws UsageError if there is no such sample.
  ComputationGraph& graph(std::size_t sample);

  /// After `clear`, the graphs of the first samples to come get these seeds, as by
  /// ComputationGraph::set_seed. Throws UsageError if there are samples.
  void seed_samples(std::span<const std::uint64_t> seeds);

  /// A term of the total loss: one number per minibatch element of its graph. Throws ShapeError;
  /// and UsageError if a trainer has used what backward() returned and the minibatch was not
  /// cleared since: the terms before it would be trained on again.
  void add_loss(const Expression& loss);
  /// Records `count` new samples beside each other, with GraphOptions::threads threads:
  /// record(graph, i) records sample i into its graph and returns an expression of it. Returns
  /// these in order. All results are those of recording one after the other.
  ///
  /// `record` may read what samples share, such as parameters and layers, and must not write it.
  /// Inside it nothing can be run: what needs values, or this minibatch, throws UsageError. If
  /// samples fail, the exception of the first is thrown on, with ", in sample N" if it is the
  /// library's own: N is the index for graph(), which is i plus the samples that were there before.
  /// The graphs stay, as far as they were recorded, until `clear`.
  std::vector<Expression> record(std::size_t count, const RecordSample& record);
  /// The same, and every expression is a loss as for add_loss; none is added if a sample fails.
  void add_losses(std::size_t count, const RecordSample& loss_of);
  /// Terms of the total loss, in this order; none is added if one of them is not a loss.
  void add_losses(std::span<const Expression> losses);
  /// A value that `forward` computes, too. In inference `forward` keeps losses and outputs; what
  /// else it computes may be freed, and is computed again if it is asked for later.
  void add_output(const Expression& output);

  /// Computes what is not yet computed of all losses and outputs, and all anew if a parameter has
  /// changed. Returns the sum of the losses, added in the order of add_loss; it is not their mean.
  ///
  /// If a memory_limit makes parts of the minibatch, each part runs backward as well, before the
  /// next one, and its values are freed, outputs too. `backward()` then returns what is there, and
  /// `backward(gradients)` runs all parts once more. In inference there is no backward pass, and
  /// losses and outputs are kept.
  float forward();
  /// `forward` in two steps, for devices that work beside this process: begins it, and returns its
  /// result, for which it waits. `backward` may come between them. `loss` throws UsageError unless
  /// `start` was called before, StateError if its values are gone.
  void start();
  float loss();
  /// The sum of the losses of samples `begin` to `end` - 1, in the order of add_loss. Throws as
  /// `loss`.
  double loss_of(std::uint32_t begin, std::uint32_t end);
  /// Throws NumericError if the sum of the losses that `forward` returned is not finite: the
  /// message has the first sample with such a loss, and its first node with such a number, for
  /// which it is computed once more. Costs nothing if the sum is finite.
  void check_finite_loss();
  /// Computes these expressions together, and keeps what that computes: for decoders and parsers,
  /// which read values on the way and go on. A call costs what its new nodes cost. There are no
  /// parts: memory_limit does not bound it.
  void compute(std::span<const Expression> expressions);
  void compute(std::initializer_list<Expression> expressions) {
    compute(std::span(expressions.begin(), expressions.size()));
  }
  /// The gradients of the total loss, valid until the next pass or `clear`. Throws StateError if a
  /// parameter has changed since `forward`, UsageError in inference, or unless `forward` was called
  /// after the last add_loss.
  const Gradients& backward();
  /// The same, added to gradients of the caller: on the CPU accumulated minibatches have the bits
  /// of one. If it throws, some may have been added: clear them. Throws UsageError if a trainer has
  /// used them and they were not cleared since.
  void backward(Gradients& gradients);

  /// Forgets all graphs; their expressions become stale. Later graphs have other seeds. Whatever
  /// was thrown before, even because memory ran out, the minibatch is as good as new then.
  void clear();

  /// How the nodes were batched since the last clear, or since for_each_arriving last forgot what
  /// it need not know any more.
  Report explain() const;
  /// A picture of what ran together, as an SVG: a row for every batch, a column for every sample.
  /// Throws UsageError if nothing has run since the last clear.
  std::string draw_batches(const BatchPicture& what = {}) const;
  /// In how many parts the last `forward` ran: 1 unless GraphOptions::memory_limit needs more, 0
  /// without samples or before `forward`.
  std::size_t parts() const;

 protected:
  /// As GraphOptions::seed, for graphs to come.
  void set_seed(std::uint64_t seed);
  /// Its graphs are of a class of its own, which `make` makes.
  Minibatch(const GraphOptions& options,
            std::unique_ptr<ComputationGraph> (*make)(detail::TapeWriter&, detail::Executor&));

 private:
  friend struct detail::MinibatchAccess;

  std::unique_ptr<detail::SampleGraphs> samples_;
  std::unique_ptr<detail::MinibatchPasses> passes_;
  std::unique_ptr<detail::SampleFibers> fibers_;
};

/// What records a sample and returns an expression of it: f(graph, i).
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

namespace detail {

/// What the rest of the library asks of a minibatch.
struct MinibatchAccess {
  using RunSample = std::function<void(ComputationGraph& graph, std::size_t i)>;
  using TakeSample = std::function<bool(std::size_t i, bool idle)>;
  using OnComplete = std::function<void(const ParameterStorage&)>;

  /// What for_each_sample and for_each_arriving do, which see.
  static void run_samples(Minibatch& batch, std::size_t count, const RunSample& run);
  static void run_arriving(Minibatch& batch, std::size_t at_once, const TakeSample& take,
                           const RunSample& run);

  /// Minibatch::backward for shards: adds the gradients of the samples below ends[i], and in no
  /// shard before, to gradients[i], with the bits of a minibatch that has these samples alone.
  /// Throws UsageError unless `ends` do not fall, the last one is size(), and the minibatch runs as
  /// a whole (see memory_limit). `complete` is called for each parameter, tables aside, that only
  /// samples read, as soon as its gradients of all shards are there and still in the cache.
  static void backward(Minibatch& batch, std::span<const std::uint32_t> ends,
                       std::span<Gradients> gradients, const OnComplete& complete = {});
  /// How many of the losses had a backward pass since the last `clear`.
  static std::size_t trained_losses(const Minibatch& batch);
};

}  // namespace detail

}  // namespace dynet_like

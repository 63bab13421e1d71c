// for_each_sample: runs code that is written for one sample, and may ask for values, on many at
// once.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <iterator>
#include <string>
#include <type_traits>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/minibatch.h"

namespace dynet_like {

namespace detail {

/// Whether a user's function takes the number of a sample, or a sample of a range.
template <class F, class Count>
concept TakesNumbers = std::integral<Count> && std::invocable<F&, ComputationGraph&, std::size_t>;
template <class F, class Samples>
concept TakesSamples = requires(Samples& samples) {
  { std::begin(samples) } -> std::random_access_iterator;
  std::size(samples);
  requires std::invocable<F&, ComputationGraph&, decltype(*std::begin(samples))>;
};

}  // namespace detail

/// Runs `f(graph, i)` for samples 0 to count - 1, each with a new graph of the minibatch, and
/// returns what they returned, in their order; or nothing, if `f` returns nothing.
///
/// Write `f` as for a single sample: it may ask for values (`as_scalar`, `argmax`, ...) and decide
/// by them what to do next. A sample that asks waits until all others wait or have ended; then the
/// values that they wait for are computed together. Every value has the same bits as if the sample
/// ran alone.
///
///     const auto losses = for_each_sample(batch, sentences, [&](auto& graph, auto& sentence) {
///       Parser parser(graph, sentence);
///       while (!parser.is_done()) parser.apply(argmax(parser.scores().value()));
///       return parser.loss();
///     });
///     batch.add_losses(losses);
///
/// The samples run one at a time, or several at a time with GraphOptions::threads threads: `f` may
/// read shared data, but must not write it, nor hold a lock of yours while it records or asks for
/// values. A sample always runs on the same thread, on a stack of GraphOptions::stack_bytes. It may
/// use only its own graph; calls on the minibatch throw UsageError.
///
/// In inference, the values of a sample may be freed when it ends: let `f` return numbers, not
/// tensors. Expressions stay valid, and are computed again if asked for.
///
/// If a sample throws, the others are unwound and the exception is rethrown. The message of a
/// library exception then ends in ", in sample N", with N the index in the minibatch; the graphs
/// stay as they are until `clear`. A sample is unwound by a private exception, thrown where it
/// waits. So never ask for a value inside a `noexcept` function. Throws UsageError for a negative
/// count, or stacks below 64 KiB.
template <class Count, class F>
requires detail::TakesNumbers<F, Count>
auto for_each_sample(Minibatch& batch, Count count, F&& f) {
  using Result = std::invoke_result_t<F&, ComputationGraph&, std::size_t>;
  if constexpr (std::signed_integral<Count>) {
    if (count < 0) {
      throw UsageError("[for_each_sample] need a count of samples; got " + std::to_string(count));
    }
  }
  if constexpr (std::is_void_v<Result>) {
    batch.run_samples(static_cast<std::size_t>(count),
                      [&](ComputationGraph& graph, std::size_t i) { f(graph, i); });
  } else {
    std::vector<std::optional<Result>> returned(static_cast<std::size_t>(count));
    batch.run_samples(returned.size(),
                      [&](ComputationGraph& graph, std::size_t i) { returned[i] = f(graph, i); });
    std::vector<Result> results;
    results.reserve(returned.size());
    for (std::optional<Result>& result : returned) results.push_back(std::move(*result));
    return results;
  }
}

/// The same for the samples of a range: `f(graph, sample)`.
template <class Samples, class F>
requires detail::TakesSamples<F, Samples>
auto for_each_sample(Minibatch& batch, Samples&& samples, F&& f) {
  const auto begin = std::begin(samples);
  using Distance = std::iter_difference_t<decltype(begin)>;
  return for_each_sample(batch, static_cast<std::size_t>(std::size(samples)),
                         [&](ComputationGraph& graph, std::size_t i) -> decltype(auto) {
                           return f(graph, begin[static_cast<Distance>(i)]);
                         });
}

// For arguments that fit neither: gives a readable compiler error.
template <class Samples, class F>
requires(!detail::TakesNumbers<F, std::remove_cvref_t<Samples>> &&
         !detail::TakesSamples<F, Samples>) auto for_each_sample(Minibatch&, Samples&&, F&&) {
  static_assert(sizeof(F) == 0,
                "need a count or a range of samples, and a function (ComputationGraph& graph, "
                "std::size_t i) or (ComputationGraph& graph, const Sample& sample); samples that "
                "are const need a const reference");
  return std::vector<Expression>();
}

/// Runs samples that arrive while others run, as in a server. Each time before it resumes the
/// waiting samples, it calls `next(idle)` until `at_once` samples run or none has arrived. `next`
/// returns a std::optional, empty if none has arrived. `idle` means that no sample runs: then
/// `next` may wait, and an empty result ends the call. `f(graph, sample)` runs as in
/// for_each_sample. Only in inference: a new sample uses the graph of one that has ended, whose
/// expressions become stale, so that memory does not grow with the number of samples. An exception
/// from `f` ends the call: catch in `f` what a server should survive. In a message, "in sample N"
/// counts samples in the order of arrival, from 0.
template <class Next, class F>
void for_each_arriving(Minibatch& batch, std::size_t at_once, Next&& next, F&& f) {
  static_assert(
      requires { *next(true), next(true).has_value(); },
      "need a function next(bool idle) that returns a std::optional of a sample");
  using Sample = typename std::invoke_result_t<Next&, bool>::value_type;
  static_assert(std::invocable<F&, ComputationGraph&, Sample&>,
                "need a function (ComputationGraph& graph, const Sample& sample)");
  std::vector<std::optional<Sample>> running(at_once);
  batch.run_samples(
      at_once, [&](ComputationGraph& graph, std::size_t i) { f(graph, *running[i]); },
      [&](std::size_t i, bool idle) {
        running[i] = next(idle);
        return running[i].has_value();
      });
}

}  // namespace dynet_like

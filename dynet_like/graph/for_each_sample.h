// for_each_sample: plain code for one sample, which may ask for values, run for many at once.
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

/// Whether a function of the user takes so many samples by their numbers, or the samples of a
/// range.
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
/// `f` is written as for one sample alone: it may ask for values (`as_scalar`, `argmax`, ...) and
/// go on as they say. Where it does, the sample waits until all others wait or have ended; then
/// what they wait for is computed together. Every value has the bits that it has in a sample alone.
///
///     const auto losses = for_each_sample(batch, sentences, [&](auto& graph, auto& sentence) {
///       Parser parser(graph, sentence);
///       while (!parser.is_done()) parser.apply(argmax(parser.scores().value()));
///       return parser.loss();
///     });
///     batch.add_losses(losses);
///
/// The samples run one at a time, or with GraphOptions::threads threads a few at a time: `f` may
/// read what they share, and must not write it, nor hold a lock of its own while it records or
/// asks. A sample always runs on the same thread, on a stack of GraphOptions::stack_bytes, and
/// works with its own graph only; the minibatch throws UsageError.
///
/// In inference, the memory of what a sample has computed may be given back when it ends: let `f`
/// return numbers, not tensors. Expressions stay good, and are computed again if asked for.
///
/// What a sample throws ends all: the others are unwound, and it is thrown on, with ", in sample
/// N" if it is an exception of the library, N counted in the minibatch; the graphs stay as they are
/// until `clear`. What unwinds a sample is an exception of no class that can be named: it comes
/// from where the sample waits, which therefore must not be inside a function that is `noexcept`.
/// Throws UsageError for fewer than 0 samples, or stacks below 64 KiB.
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
    detail::MinibatchAccess::run_samples(
        batch, static_cast<std::size_t>(count),
        [&](ComputationGraph& graph, std::size_t i) { f(graph, i); });
  } else {
    std::vector<std::optional<Result>> returned(static_cast<std::size_t>(count));
    detail::MinibatchAccess::run_samples(
        batch, returned.size(),
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

// What fits neither, so that the compiler says why.
template <class Samples, class F>
requires(!detail::TakesNumbers<F, std::remove_cvref_t<Samples>> &&
         !detail::TakesSamples<F, Samples>) auto for_each_sample(Minibatch&, Samples&&, F&&) {
  static_assert(sizeof(F) == 0,
                "need a count or a range of samples, and a function (ComputationGraph& graph, "
                "std::size_t i) or (ComputationGraph& graph, const Sample& sample); a reference "
                "to non-const takes no samples that are const");
  return std::vector<Expression>();
}

/// Samples that come while others run, as in a server: between waves, `next(idle)` is asked for the
/// next sample as long as fewer than `at_once` run. It returns a std::optional of it, nothing if
/// none has come yet; if `idle`, no sample runs, and nothing ends the call: it may wait there. Runs
/// `f(graph, sample)` for each; the rest is as for for_each_sample. Only in inference: the graph of
/// a sample that has ended is used again, its expressions become stale, and memory does not grow
/// with the samples that were there. What `f` throws ends all; let it catch what a server survives.
/// In an exception of the library, "in sample N" counts the samples as they came, from 0.
template <class Next, class F>
void for_each_arriving(Minibatch& batch, std::size_t at_once, Next&& next, F&& f) {
  static_assert(
      requires { *next(true), next(true).has_value(); },
      "need a function next(bool idle) that returns a std::optional of a sample");
  using Sample = typename std::invoke_result_t<Next&, bool>::value_type;
  static_assert(std::invocable<F&, ComputationGraph&, Sample&>,
                "need a function (ComputationGraph& graph, const Sample& sample)");
  std::vector<std::optional<Sample>> running(at_once);
  detail::MinibatchAccess::run_arriving(
      batch, at_once,
      [&](std::size_t i, bool idle) {
        running[i] = next(idle);
        return running[i].has_value();
      },
      [&](ComputationGraph& graph, std::size_t i) { f(graph, *running[i]); });
}

}  // namespace dynet_like

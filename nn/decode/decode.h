// Decoding: greedy, by beam search, or by sampling, over steps of the user.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/core/random.h"
#include "nn/decode/search.h"

namespace dynet_like::nn {

// All of these run in any graph, and in for_each_sample, where the samples of a minibatch search
// together: a step of all of them is one wave. What they find does not depend on the others.

/// The best hypotheses that a beam search finds, the best first. In every step the `beam` best
/// continuations of all open hypotheses remain; those that end leave the beam. It goes on until no
/// open one can become one of the `n_best`, which takes logarithms of probabilities, or none is
/// left. Those that max_length ended come behind all that ended by themselves. May be empty, where
/// Steps::allowed leads nowhere.
///
/// Of hypotheses with equal scores those of the better beginning come first, then those with the
/// lower action. Throws UsageError for options that make no sense, NumericError for scores that are
/// NaN or infinity.
template <class State>
std::vector<Hypothesis<State>> beam_search(const State& start,
                                           const Steps<std::type_identity_t<State>>& steps,
                                           const SearchOptions& options = {}) {
  return Search<State>(steps, options).run({start}, [&](auto so_far, auto scores) {
    return best_choices(so_far, scores, options.beam);
  });
}

/// Takes the best action in every step: beam search with a beam of 1, whatever the options say.
/// Throws as beam_search, and UsageError if no action is allowed somewhere.
template <class State>
Hypothesis<State> greedy(const State& start, const Steps<std::type_identity_t<State>>& steps,
                         SearchOptions options = {}) {
  options.beam = options.n_best = 1;
  std::vector<Hypothesis<State>> found = beam_search(start, steps, options);
  if (found.empty()) throw_dead_end();
  return std::move(found.front());
}

/// So many hypotheses, the best first, each of which draws every action from the softmax of the
/// scores; whatever `beam` and `n_best` say. Fewer where Steps::allowed leads nowhere. The same for
/// the same state of `random`, of which every sample of for_each_sample needs one of its own, such
/// as `Random(seed, std::uint64_t{i} << 32)`.
template <class State>
std::vector<Hypothesis<State>> samples(const State& start,
                                       const Steps<std::type_identity_t<State>>& steps,
                                       std::size_t count, Random& random,
                                       SearchOptions options = {}) {
  options.n_best = count;
  return Search<State>(steps, options)
      .run(std::vector<State>(count, start),
           [&](auto so_far, auto scores) { return drawn_choices(so_far, scores, random); });
}

/// One of them. Throws as `greedy`.
template <class State>
Hypothesis<State> sample(const State& start, const Steps<std::type_identity_t<State>>& steps,
                         Random& random, const SearchOptions& options = {}) {
  std::vector<Hypothesis<State>> drawn = samples(start, steps, 1, random, options);
  if (drawn.empty()) throw_dead_end();
  return std::move(drawn.front());
}

}  // namespace dynet_like::nn

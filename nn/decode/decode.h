// Decoding: greedy, by beam search, or by sampling, over steps of the user.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynet_like/core/random.h"
#include "nn/decode/search.h"

namespace dynet_like::nn {

// All of these run in any graph, and in for_each_sample, where the samples of a minibatch search
// together: a step of all of them is one wave. What they find does not depend on the others, nor on
// whether the steps are batched.

/// How a search goes on: the best of all continuations, or one drawn for each hypothesis.
inline Choose best_of_beam(const SearchOptions& options) {
  return [count = options.beam](auto so_far, auto scores) {
    return best_choices(so_far, scores, count);
  };
}
inline Choose drawn_by(Random& random) {
  return [&random](auto so_far, auto scores) { return drawn_choices(so_far, scores, random); };
}

/// The best hypotheses that a beam search finds, the best first. In every step the `beam` best
/// continuations of all open hypotheses remain; those that end leave the beam. It goes on until no
/// open one can become one of the `n_best`, which takes logarithms of probabilities, or none is
/// left. Those that max_length ended come behind all that ended by themselves. For generative
/// models that read words there is SearchOptions::word_beam.
///
/// Of hypotheses with equal scores those of the better beginning come first, then those with the
/// lower action. Throws UsageError for options that make no sense and where Steps::allowed leads
/// all of them nowhere or a function is missing, NumericError for scores that are NaN or infinity.
template <class State>
std::vector<Hypothesis<State>> beam_search(const State& start,
                                           const Steps<std::type_identity_t<State>>& steps,
                                           const SearchOptions& options = {}) {
  return Search(SeparateStates(steps), options).run(start, 1, best_of_beam(options));
}
template <class State>
std::vector<Hypothesis<State>> beam_search(const State& start,
                                           const BatchedSteps<std::type_identity_t<State>>& steps,
                                           const SearchOptions& options = {}) {
  return Search(JointState(steps), options).run(start, 1, best_of_beam(options));
}

/// Takes the best action in every step: what beam search finds with a beam of 1, whatever the
/// options say, unless rounding makes logarithms of different scores equal. Its score is the sum of
/// the scores as they are, unless `normalise` or a length_penalty asks for logarithms of
/// probabilities, which take time. Throws as beam_search.
template <class State>
Hypothesis<State> greedy(const State& start, const Steps<std::type_identity_t<State>>& steps,
                         SearchOptions options = {}) {
  options.normalise = options.normalise.value_or(options.length_penalty > 0);
  check(options);
  complete(steps);
  Hypothesis<State> found = {{}, 0, 0, false, start};
  const auto is_done = [&] { return steps.is_done && steps.is_done(found.state); };
  found.is_complete = is_done();
  std::size_t length = 0;
  SearchMemory memory(knows_expressions<State>());
  for (; !found.is_complete && length < options.max_length; ++length) {
    memory.begin_step();
    memory.begin_scores();
    const Expression scores =
        scores_as_chosen(steps.scores(found.state), 1, allowed_in(found.state, steps), options);
    memory.end_scores(memory.kStart, scores);
    const std::optional<Choice> best = best_choice(scores.value());
    memory.end_step(
        {}, [&](const SearchMemory::Mark& mark) { visit_known_expressions(found.state, mark); });
    if (!best) throw_dead_end(length);
    found.sum += best->score;
    found.is_complete = best->action == options.end;
    if (found.is_complete) continue;
    found.actions.push_back(best->action);
    found.state = steps.advance(found.state, best->action);
    found.is_complete = is_done();
  }
  found.score = found.sum / length_divisor(options, length);
  return found;
}
template <class State>
Hypothesis<State> greedy(const State& start, const BatchedSteps<std::type_identity_t<State>>& steps,
                         const SearchOptions& options = {}) {
  return greedy(start, steps_of_one(steps), options);
}

/// So many hypotheses, the best first, each of which draws every action from the softmax of the
/// scores; whatever `beam`, `word_beam` and `n_best` say. Fewer where Steps::allowed leads some
/// nowhere; throws as beam_search. The same for the same state of `random`, of which every sample
/// of for_each_sample needs one of its own, such as `Random(seed, std::uint64_t{i} << 32)`.
template <class State>
std::vector<Hypothesis<State>> samples(const State& start,
                                       const Steps<std::type_identity_t<State>>& steps,
                                       std::size_t count, Random& random,
                                       SearchOptions options = {}) {
  options.n_best = count;
  options.word_beam = options.fast_track = 0;
  return Search(SeparateStates(steps), options).run(start, count, drawn_by(random));
}
template <class State>
std::vector<Hypothesis<State>> samples(const State& start,
                                       const BatchedSteps<std::type_identity_t<State>>& steps,
                                       std::size_t count, Random& random,
                                       SearchOptions options = {}) {
  options.n_best = count;
  options.word_beam = options.fast_track = 0;
  return Search(JointState(steps), options).run(start, count, drawn_by(random));
}

/// One of them. Throws as `greedy`.
template <class State>
Hypothesis<State> sample(const State& start, const Steps<std::type_identity_t<State>>& steps,
                         Random& random, const SearchOptions& options = {}) {
  std::vector<Hypothesis<State>> drawn = samples(start, steps, 1, random, options);
  return std::move(drawn.front());
}
template <class State>
Hypothesis<State> sample(const State& start, const BatchedSteps<std::type_identity_t<State>>& steps,
                         Random& random, const SearchOptions& options = {}) {
  return std::move(samples(start, steps, 1, random, options).front());
}

}  // namespace dynet_like::nn

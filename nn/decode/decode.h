// Decoding: greedy, beam search, or sampling, over the user's steps.
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

// All of these work with any graph. In for_each_sample the samples of a minibatch search together:
// one step of all of them is a wave. The result does not depend on the other samples, nor on
// whether steps are batched.

/// How a search continues: with the best of all continuations, or one drawn for each hypothesis.
inline Choose best_of_beam(const SearchOptions& options) {
  return [count = options.beam](auto so_far, auto scores) {
    return best_choices(so_far, scores, count);
  };
}
inline Choose drawn_by(Random& random) {
  return [&random](auto so_far, auto scores) { return drawn_choices(so_far, scores, random); };
}

/// Beam search: the best hypotheses that it finds, the best first. Every step keeps the `beam` best
/// continuations of all open hypotheses; those that have ended leave the beam. The search ends when
/// none is open, or when no open hypothesis can become one of the `n_best`, which is known only for
/// log probabilities. Hypotheses that were ended by max_length come after all others. For
/// generative models of text there is SearchOptions::word_beam.
///
/// Of hypotheses with equal scores, the one with the better prefix comes first, then the one with
/// the lower action. Throws UsageError for invalid options, if Steps::allowed leads all hypotheses
/// into dead ends, and if a function is missing; NumericError for scores that are NaN or infinity.
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

/// Takes the best action in every step. The result is that of a beam search with a beam of 1,
/// unless rounding makes the log probabilities of different scores equal. By default the score is
/// the sum of the unnormalised scores; `normalise` or a length_penalty makes it a sum of log
/// probabilities, which takes more time. Throws as beam_search does.
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

/// `count` hypotheses, the best first. Each draws every action from the softmax of the scores.
/// `beam`, `word_beam` and `n_best` have no effect. There are fewer if Steps::allowed leads some
/// into dead ends. Throws as beam_search does. The result depends only on the state of `random`. In
/// for_each_sample, make one for every sample, such as `Random(seed, std::uint64_t{i} << 32)`.
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

/// One sampled hypothesis. Throws as `greedy` does.
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

/// The loss of each of these actions, where the decoder takes them one after the other: teacher
/// forcing (Williams and Zipser 1989). Shapes: {1} each. Throws UsageError for an action that does
/// not exist, and if a function is missing.
template <class State>
std::vector<Expression> losses(State state, const Steps<std::type_identity_t<State>>& steps,
                               ListOf<unsigned> actions) {
  complete(steps);
  const std::span<const unsigned> all = actions;
  std::vector<Expression> losses;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i > 0) state = steps.advance(state, all[i - 1]);
    Expression scores = steps.scores(state);
    if (steps.allowed) scores = masked(scores, steps.allowed(state));
    losses.push_back(cross_entropy(scores, all[i]));
  }
  return losses;
}

}  // namespace dynet_like::nn

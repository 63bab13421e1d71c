// What a decoder does step by step, in functions of the user: a sequence, or a transition system.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/expression.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

/// The steps of a decoder. A state is all that the next step depends on, such as an LSTM's state or
/// a parser's stack; it is copied where a beam search tries several actions.
///
///     nn::Steps<nn::LSTM::State> steps = {
///         .scores = [&](const auto& state) { return output(state.h); },
///         .advance = [&](const auto& state, unsigned word) {
///           return lstm.step(state, embedding(graph, word));
///         }};
///
/// What `advance` records is computed with the scores of the next step, if there is one.
template <class State>
struct Steps {
  /// The scores of all actions, logarithms of probabilities or any others; -infinity forbids one.
  /// Where none is left, say so by `allowed`: -infinity alone has no softmax. Shapes: {actions}.
  std::function<Expression(const State&)> scores;
  /// The state after one more action; not called for SearchOptions::end.
  std::function<State(const State&, unsigned action)> advance;
  /// Whether nothing follows; without it, only the end action ends.
  std::function<bool(const State&)> is_done = nullptr;
  /// The actions that are allowed in a state that is not done; without it, all are.
  std::function<std::vector<unsigned>(const State&)> allowed = nullptr;
  /// Whether an action is the next word of a sentence; for SearchOptions::word_beam.
  std::function<bool(const State&, unsigned action)> is_word = nullptr;
};

/// Minibatch elements of both, as of an expression; of what one cell has made, in one selection.
CellState pick_batch_elems(const CellState& state, const std::vector<unsigned>& elements);
/// Of all, such as the states of several layers.
template <class State>
std::vector<State> pick_batch_elems(const std::vector<State>& states,
                                    const std::vector<unsigned>& elements) {
  std::vector<State> picked;
  for (const State& state : states) picked.push_back(pick_batch_elems(state, elements));
  return picked;
}

/// The steps of a decoder of sequences that takes a step of several hypotheses at once: they are
/// the minibatch elements of one state. A beam then records a node where Steps record one for each
/// hypothesis, which takes less time; what is found has the same bits.
///
///     nn::BatchedSteps<nn::LSTM::State> steps = {
///         .scores = [&](const auto& state) { return output(state.h); },
///         .advance = [&](const auto& state, const auto& words) {
///           return lstm.step(state, embedding.minibatch(graph, words));
///         }};
template <class State>
struct BatchedSteps {
  /// The scores of all actions, for every hypothesis. Shapes: {actions}, n of them.
  std::function<Expression(const State&)> scores;
  /// The state after one more action of each; not called for SearchOptions::end.
  std::function<State(const State&, const std::vector<unsigned>& actions)> advance;
  /// The state of some of the hypotheses, by their numbers, of which one may come several times:
  /// pick_batch_elems of what differs between them.
  std::function<State(const State&, const std::vector<unsigned>& hypotheses)> pick =
      [](const State& state, const std::vector<unsigned>& hypotheses) {
        return pick_batch_elems(state, hypotheses);
      };
};

[[noreturn]] void throw_without(const char* function);

/// The same steps. Throws UsageError if one of the functions that every decoder has is missing.
template <class AnySteps>
const AnySteps& complete(const AnySteps& steps) {
  if (!steps.scores) throw_without("scores");
  if (!steps.advance) throw_without("advance");
  if constexpr (requires { steps.pick; }) {
    if (!steps.pick) throw_without("pick");
  }
  return steps;
}

/// The same decoder, one hypothesis at a time.
template <class State>
Steps<State> steps_of_one(const BatchedSteps<State>& steps) {
  complete(steps);
  return {.scores = steps.scores,
          .advance = [advance = steps.advance](const State& state, unsigned action) {
            return advance(state, {action});
          }};
}

/// The scores of the actions that are allowed, and -infinity for all others: for training, too, so
/// that no probability is lost to what cannot be. To forbid a few, say fill_rows(scores, few,
/// -infinity). Shapes: {actions} -> {actions}. Throws UsageError for an action that is not there.
Expression masked(const Expression& scores, ListOf<unsigned> allowed);

/// The logarithm of the mean of several distributions, whose logarithms these are.
Expression mean_of_distributions(const std::vector<Expression>& log_probabilities);

/// The same of what models give in their states.
template <class AnySteps, class State>
Expression mean_scores(const std::vector<AnySteps>& models, const std::vector<State>& states) {
  std::vector<Expression> scores;
  for (std::size_t i = 0; i < models.size(); ++i) {
    scores.push_back(log_softmax(models[i].scores(states.at(i))));
  }
  return mean_of_distributions(scores);
}

/// Several models that decide together: a state has the states of all, and the probability of an
/// action is the mean of those that they give it. When it is done, what is allowed and what is a
/// word, the first says. Throws UsageError for no models, and as `complete`.
template <class State>
Steps<std::vector<State>> ensemble(std::vector<Steps<State>> models) {
  if (models.empty()) throw UsageError("[ensemble] need at least 1 model; got 0");
  for (const Steps<State>& model : models) complete(model);
  using States = std::vector<State>;
  Steps<States> steps;
  if (const auto& is_done = models[0].is_done) {
    steps.is_done = [is_done](const States& states) { return is_done(states.at(0)); };
  }
  if (const auto& allowed = models[0].allowed) {
    steps.allowed = [allowed](const States& states) { return allowed(states.at(0)); };
  }
  if (const auto& is_word = models[0].is_word) {
    steps.is_word = [is_word](const States& states, unsigned action) {
      return is_word(states.at(0), action);
    };
  }
  steps.scores = [models](const States& states) { return mean_scores(models, states); };
  steps.advance = [models = std::move(models)](const States& states, unsigned action) {
    States next;
    for (std::size_t i = 0; i < models.size(); ++i) {
      next.push_back(models[i].advance(states.at(i), action));
    }
    return next;
  };
  return steps;
}

template <class State>
BatchedSteps<std::vector<State>> ensemble(std::vector<BatchedSteps<State>> models) {
  if (models.empty()) throw UsageError("[ensemble] need at least 1 model; got 0");
  for (const BatchedSteps<State>& model : models) complete(model);
  using States = std::vector<State>;
  BatchedSteps<States> steps = {
      .scores = [models](const States& states) { return mean_scores(models, states); },
      .advance =
          [models](const States& states, const std::vector<unsigned>& actions) {
            States next;
            for (std::size_t i = 0; i < models.size(); ++i) {
              next.push_back(models[i].advance(states.at(i), actions));
            }
            return next;
          },
      .pick =
          [models](const States& states, const std::vector<unsigned>& hypotheses) {
            States picked;
            for (std::size_t i = 0; i < models.size(); ++i) {
              picked.push_back(models[i].pick(states.at(i), hypotheses));
            }
            return picked;
          }};
  return steps;
}

}  // namespace dynet_like::nn

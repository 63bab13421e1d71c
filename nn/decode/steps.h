// The steps of a decoder, as functions of the user: for a sequence, or for a transition system.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/expression.h"
#include "dynet_like/ops/ops.h"

namespace dynet_like::nn {

/// The steps of a decoder. A state has all that the next step depends on, such as an LSTM's state
/// or a parser's stack. If a beam search tries several actions, it copies the state.
///
///     nn::Steps<nn::LSTM::State> steps = {
///         .scores = [&](const auto& state) { return output(state.h); },
///         .advance = [&](const auto& state, unsigned word) {
///           return lstm.step(state, embedding(graph, word));
///         }};
///
/// Nodes that `advance` records are computed with the scores of the next step, if there is one.
template <class State>
struct Steps {
  /// The scores of all actions, log probabilities or any others; -infinity forbids an action. If no
  /// action is left, use `allowed` to say so: -infinity alone has no softmax. Shapes: {actions}.
  std::function<Expression(const State&)> scores;
  /// The state after one more action. Not called for SearchOptions::end.
  std::function<State(const State&, unsigned action)> advance;
  /// Whether the state ends the hypothesis. If not given, only the end action does.
  std::function<bool(const State&)> is_done = nullptr;
  /// The allowed actions in a state that is not done. If not given, all are.
  std::function<std::vector<unsigned>(const State&)> allowed = nullptr;
  /// Whether an action is the next word of a sentence, for SearchOptions::word_beam.
  std::function<bool(const State&, unsigned action)> is_word = nullptr;
};

/// Picks minibatch elements of output and cell; if both are of one node, in one selection.
CellState pick_batch_elems(const CellState& state, const std::vector<unsigned>& elements);
/// The same for a list, such as the states of several layers.
template <class State>
std::vector<State> pick_batch_elems(const std::vector<State>& states,
                                    const std::vector<unsigned>& elements) {
  std::vector<State> picked;
  for (const State& state : states) picked.push_back(pick_batch_elems(state, elements));
  return picked;
}

/// The steps of a decoder of sequences that advances several hypotheses at once: they are the
/// minibatch elements of one state. A beam search then records one node where Steps record one per
/// hypothesis, which takes less time. The bits of the result are the same.
///
///     nn::BatchedSteps<nn::LSTM::State> steps = {
///         .scores = [&](const auto& state) { return output(state.h); },
///         .advance = [&](const auto& state, const auto& words) {
///           return lstm.step(state, embedding.minibatch(graph, words));
///         }};
template <class State>
struct BatchedSteps {
  /// The scores of all actions, for each of n hypotheses. Shapes: {actions}, n minibatch elements.
  std::function<Expression(const State&)> scores;
  /// The state after one more action of each hypothesis. Not called for SearchOptions::end.
  std::function<State(const State&, const std::vector<unsigned>& actions)> advance;
  /// The state of some of the hypotheses, by number; a number may occur several times. By default
  /// pick_batch_elems; write your own if the state has parts that do not differ between hypotheses.
  std::function<State(const State&, const std::vector<unsigned>& hypotheses)> pick =
      [](const State& state, const std::vector<unsigned>& hypotheses) {
        static_assert(
            requires { pick_batch_elems(state, hypotheses); },
            "BatchedSteps need `pick` for this type of states, or a function "
            "pick_batch_elems(const State&, const std::vector<unsigned>&) beside the type");
        return pick_batch_elems(state, hypotheses);
      };
};

[[noreturn]] void throw_without(const char* function);

/// Returns the steps. Throws UsageError if a function that every decoder needs is missing.
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

/// The scores of the allowed actions, and -infinity for all others. Use it in training, too, so
/// that no probability is lost to impossible actions. To forbid a few, use fill_rows(scores, few,
/// -infinity). Shapes: {actions} -> {actions}. Throws UsageError for an action that does not exist.
Expression masked(const Expression& scores, ListOf<unsigned> allowed);

/// The logarithm of the mean of several distributions, given by their logarithms.
Expression mean_of_distributions(const std::vector<Expression>& log_probabilities);

/// The same for the distributions of models in their states.
template <class AnySteps, class State>
Expression mean_scores(const std::vector<AnySteps>& models, const std::vector<State>& states) {
  std::vector<Expression> scores;
  for (std::size_t i = 0; i < models.size(); ++i) {
    scores.push_back(log_softmax(models[i].scores(states.at(i))));
  }
  return mean_of_distributions(scores);
}

/// Several models that decide together. A state has the states of all models, and the probability
/// of an action is the mean of the models' probabilities. The first model decides when a state is
/// done, what is allowed and what is a word. Throws UsageError for no models, and as `complete`.
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

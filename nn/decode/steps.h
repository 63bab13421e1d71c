// What a decoder does step by step, in functions of the user: a sequence, or a transition system.
#pragma once

#include <cmath>
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
  /// The scores of all actions, logarithms of probabilities or any others. Shapes: {actions}.
  std::function<Expression(const State&)> scores;
  /// The state after one more action; not called for SearchOptions::end.
  std::function<State(const State&, unsigned action)> advance;
  /// Whether nothing follows; without it, only the end action ends.
  std::function<bool(const State&)> is_done = nullptr;
  /// The actions that are allowed in a state that is not done; without it, all are.
  std::function<std::vector<unsigned>(const State&)> allowed = nullptr;
};

/// The scores of the actions that are allowed, and -infinity for all others: for training, too, so
/// that no probability is lost to what cannot be. Shapes: {actions} -> {actions}. Throws UsageError
/// for an action that is not there.
Expression masked(const Expression& scores, ListOf<unsigned> allowed);

/// Several models that decide together: a state has the states of all, and the probability of an
/// action is the mean of those that they give it. When it is done, and what is allowed, the first
/// says. Throws UsageError for no models.
template <class State>
Steps<std::vector<State>> ensemble(std::vector<Steps<State>> models) {
  if (models.empty()) throw UsageError("[ensemble] need at least 1 model; got 0");
  using States = std::vector<State>;
  Steps<States> steps;
  if (const auto& is_done = models[0].is_done) {
    steps.is_done = [is_done](const States& states) { return is_done(states.at(0)); };
  }
  if (const auto& allowed = models[0].allowed) {
    steps.allowed = [allowed](const States& states) { return allowed(states.at(0)); };
  }
  steps.scores = [models](const States& states) {
    std::vector<Expression> scores;
    for (std::size_t i = 0; i < models.size(); ++i) {
      scores.push_back(log_softmax(models[i].scores(states.at(i))));
    }
    return logsumexp(scores) - std::log(static_cast<float>(models.size()));
  };
  steps.advance = [models = std::move(models)](const States& states, unsigned action) {
    States next;
    for (std::size_t i = 0; i < models.size(); ++i) {
      next.push_back(models[i].advance(states.at(i), action));
    }
    return next;
  };
  return steps;
}

}  // namespace dynet_like::nn

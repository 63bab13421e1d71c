// Small decoders, for tests of searches: a language model and a transition system; and all
// hypotheses that they have.
#pragma once

#include "tests/support/precompiled.h"

namespace dynet_like::nn {

using Actions = std::vector<unsigned>;

constexpr unsigned kActions = 4, kEnd = 2, kHidden = 8;
constexpr unsigned kShift = 0, kLeft = 1, kRight = 3;  // of a parser

// A small language model; it begins differently for every sample.
struct Model {
  explicit Model(std::uint64_t seed = 1, float scale = 3) : parameters(seed), sharpness(scale) {}

  ParameterCollection parameters;
  Embedding words{parameters, kActions, kHidden, {.init = ParameterInitNormal()}};
  LSTM lstm{parameters, kHidden, kHidden};
  Linear output{parameters, kHidden, kActions};
  float sharpness;

  LSTM::State start(ComputationGraph& graph, std::size_t sample) const {
    LSTM::State state = lstm.start(graph);
    for (std::size_t i = 0; i <= sample % 5; ++i) {
      state = lstm.step(state, words(graph, static_cast<unsigned>((sample + i) % kActions)));
    }
    return state;
  }
  Steps<LSTM::State> steps() const {
    return {.scores = [this](const auto& state) { return output(state.h) * sharpness; },
            .advance =
                [this](const auto& state, unsigned word) {
                  return lstm.step(state, words(state.h.graph("test"), word));
                }};
  }
  BatchedSteps<LSTM::State> batched_steps() const {
    return {.scores = steps().scores, .advance = [this](const auto& state, const auto& actions) {
              return lstm.step(state, words.minibatch(state.h.graph("test"), actions));
            }};
  }
};

// A transition system: words are shifted onto a stack, and the upper two become one. The state is
// the number of words to come, and the stack.
struct Parse {
  unsigned left = 3;
  std::vector<Expression> stack;
};

inline Steps<Parse> parser(const Model& model, ComputationGraph& graph) {
  Steps<Parse> steps;
  steps.is_done = [](const Parse& parse) { return parse.left == 0 && parse.stack.size() == 1; };
  steps.allowed = [](const Parse& parse) {
    std::vector<unsigned> allowed;
    if (parse.left > 0) allowed.push_back(kShift);
    if (parse.stack.size() > 1) allowed.insert(allowed.end(), {kLeft, kRight});
    return allowed;
  };
  steps.scores = [&](const Parse& parse) {
    const Expression top = parse.stack.empty() ? zeros(graph, Dim({kHidden})) : parse.stack.back();
    return model.output(top + static_cast<float>(parse.left)) * 3.0f;
  };
  steps.advance = [&](Parse parse, unsigned action) {
    if (action == kShift) {
      parse.stack.push_back(tanh(model.words(graph, --parse.left % kActions)));
      return parse;
    }
    const Expression top = parse.stack.back();
    parse.stack.pop_back();
    Expression& below = parse.stack.back();
    below = action == kLeft ? tanh(below + 0.5f * top) : tanh(0.3f * below - top);
    return parse;
  };
  return steps;
}

// Steps whose state is the list of actions.
inline Steps<Actions> steps_of(std::function<Expression(const Actions&)> scores) {
  return {.scores = std::move(scores), .advance = [](Actions actions, unsigned action) {
            actions.push_back(action);
            return actions;
          }};
}

struct Found {
  Actions actions;
  double sum = 0, score = 0;
  bool is_complete = true;
};

// All hypotheses that are possible, the best first; sums of logarithms of probabilities, by hand.
template <class State>
std::vector<Found> enumerate(const State& start, const Steps<State>& steps,
                             const SearchOptions& options) {
  std::vector<Found> all;
  const auto add = [&](const Actions& actions, double sum, std::size_t length, bool is_complete) {
    const double penalty =
        std::pow((5.0 + static_cast<double>(length)) / 6.0, options.length_penalty);
    all.push_back({actions, sum, sum / penalty, is_complete});
  };
  const std::function<void(const State&, Actions, double)> go = [&](const State& state,
                                                                    Actions actions, double sum) {
    if (steps.is_done && steps.is_done(state)) return add(actions, sum, actions.size(), true);
    if (actions.size() == options.max_length) return add(actions, sum, actions.size(), false);
    const std::vector<double> scores = as_doubles(steps.scores(state).value());
    std::vector<unsigned> allowed(scores.size());
    for (unsigned i = 0; i < allowed.size(); ++i) allowed[i] = i;
    if (steps.allowed) allowed = steps.allowed(state);
    std::erase_if(allowed, [&](unsigned action) { return scores[action] == -INFINITY; });
    double total = 0;
    for (unsigned action : allowed) total += std::exp(scores[action]);
    for (unsigned action : allowed) {
      const double next = sum + scores[action] - std::log(total);
      if (action == options.end) {
        add(actions, next, actions.size() + 1, true);
      } else {
        Actions longer = actions;
        longer.push_back(action);
        go(steps.advance(state, action), longer, next);
      }
    }
  };
  go(start, {}, 0);
  std::stable_sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    return std::pair(a.is_complete, a.score) > std::pair(b.is_complete, b.score);
  });
  return all;
}

template <class State>
void expect_the_best(const std::vector<Hypothesis<State>>& found, const std::vector<Found>& all,
                     std::size_t n_best) {
  ASSERT_EQ(found.size(), std::min(n_best, all.size()));
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].actions, all[i].actions) << i;
    EXPECT_NEAR(found[i].sum, all[i].sum, 1e-5) << i;
    EXPECT_NEAR(found[i].score, all[i].score, 1e-5) << i;
    EXPECT_EQ(found[i].is_complete, all[i].is_complete) << i;
  }
}

// What the logarithms of probabilities of all steps took.
struct NodesAndBatches {
  std::uint64_t nodes = 0, batches = 0;
};
inline NodesAndBatches log_softmax_of(const Report& report) {
  NodesAndBatches work;
  for (const Report::Type& type : report.types) {
    if (type.op != "log_softmax") continue;
    work.nodes += type.nodes;
    work.batches += type.batches;
  }
  return work;
}

}  // namespace dynet_like::nn

// A small model whose samples decide by values how they continue.
#pragma once

#include <algorithm>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::testing {

inline constexpr unsigned kStates = 12, kActions = 4;

/// Walks: the next step depends on the value of this one.
struct Walker {
  Walker() {
    const ParameterInitGlorot init;
    W = model.add_parameters({kStates, kStates}, init, "W");
    b = model.add_parameters({kStates}, init, "b");
    V = model.add_parameters({kActions, kStates}, init, "V");
    E = model.add_lookup_parameters(kActions, {kStates}, ParameterInitGlorot(true), "E");
  }

  struct Path {
    std::vector<unsigned> actions;
    std::vector<float> scores;
    std::vector<Expression> scores_of_steps;
    Expression loss;
  };

  /// As many steps as the sample says, and one more whenever an action is 0.
  Path walk(ComputationGraph& graph, unsigned sample) const {
    Path path;
    Expression state = lookup(graph, E, sample % kActions);
    std::vector<Expression> losses;
    unsigned steps = 1 + sample * 5 % 7;
    for (unsigned i = 0; i < steps && i < 20; ++i) {
      state = tanh(affine_transform({parameter(graph, b), parameter(graph, W), state}));
      const Expression scores = parameter(graph, V) * state;
      path.scores_of_steps.push_back(scores);
      losses.push_back(cross_entropy(scores, i % kActions));
      const std::vector<float> values = as_vector(scores.value());
      const auto best =
          static_cast<unsigned>(std::max_element(values.begin(), values.end()) - values.begin());
      path.actions.push_back(best);
      path.scores.insert(path.scores.end(), values.begin(), values.end());
      state = state + lookup(graph, E, best);
      if (best == 0) ++steps;
    }
    path.loss = sum(losses);
    return path;
  }

  ParameterCollection model;
  Parameter W, b, V;
  LookupParameter E;
};

}  // namespace dynet_like::testing

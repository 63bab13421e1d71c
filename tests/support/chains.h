// Chains of steps. The step is the same in the first minibatch, and has variants in later ones.
#pragma once

#include "tests/support/random_graph.h"
#include "tests/support/same_under_policies.h"

namespace dynet_like::testing {

/// What a step of a chain may read, and where it puts the other expressions that it records.
struct Step {
  ComputationGraph& graph;
  const RandomModel& model;
  Expression state, before, fixed;  ///< the last two states, and an input of the sample
  unsigned variant = 0;             ///< 0 in all steps of the first minibatch
  Random& random;
  std::vector<Expression>& losses;
  Notes& notes;

  Expression input(const Dim& dim) {
    std::vector<float> values(dim.size());
    for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
    return dynet_like::input(graph, dim, values);
  }
};

using RecordStep = std::function<Expression(Step& step)>;

struct ChainOptions {
  unsigned rounds = 3, samples = 6, steps = 8, variants = 7;
  bool gradients = true;  ///< of all states
};

/// Minibatches of chains that end in a loss.
inline void run_chains(const RecordStep& record, const ChainOptions& chains,
                       const GraphOptions& options, Notes& notes) {
  const RandomModel model(options.dtype);
  GraphOptions with_random = options;
  with_random.seed = 5;
  Minibatch batch(with_random);
  for (unsigned round = 0; round < chains.rounds; ++round) {
    batch.clear();
    std::vector<Expression> states;
    for (unsigned sample = 0; sample < chains.samples; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      Random random(100 * round + sample);
      std::vector<Expression> losses;
      Step step{graph, model, {}, {}, {}, 0, random, losses, notes};
      step.fixed = step.input(Dim({4}));
      step.before = lookup(graph, model.table4, sample % 9);
      step.state = relu(parameter(graph, model.weights44[8]) * step.before);
      states.insert(states.end(), {step.before, step.state});
      for (unsigned i = 0; i < chains.steps; ++i) {
        step.variant = round == 0 ? 0 : random.below(chains.variants);
        const Expression next = record(step);
        step.before = step.state;
        step.state = next;
        states.push_back(next);
      }
      losses.push_back(sum_elems(step.state));
      for (const Expression& loss : losses) batch.add_loss(loss);
    }
    notes.add("loss", std::vector<float>{batch.forward()});
    if (!options.inference) notes.add("parameters", model.all(batch.backward()));
    for (const Expression& e : states) {
      if (!options.inference && chains.gradients) notes.add("gradient", e.gradient());
    }
    for (const Expression& e : states) notes.add("value", e.value());
  }
}

inline void expect_same_chains(const RecordStep& record, const GraphOptions& options = {},
                               const ChainOptions& chains = {}) {
  expect_same_under_policies([&](const GraphOptions& its_options,
                                 Notes& notes) { run_chains(record, chains, its_options, notes); },
                             options);
}

}  // namespace dynet_like::testing

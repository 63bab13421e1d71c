// Programs that are chains of steps, whose steps differ in all samples but the first ones.
#pragma once

#include "tests/support/modes.h"
#include "tests/support/random_graph.h"

namespace dynet_like::testing {

/// What a step of a chain may read, and where it puts the other expressions that it records.
struct Step {
  ComputationGraph& graph;
  const RandomModel& model;
  Random& random;
  Expression state = {}, before = {}, fixed = {};  ///< the last two states; an input of the sample
  unsigned variant = 0;                            ///< 0 in all steps of the first samples
  std::vector<Expression> losses = {}, watched = {};

  Expression input(const Dim& dim) {
    std::vector<float> values(dim.size());
    for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
    return dynet_like::input(graph, dim, values);
  }
};

using RecordStep = std::function<Expression(Step& step)>;

inline Program chain_program(const RandomModel& model, const RecordStep& record,
                             unsigned steps = 8) {
  constexpr unsigned kAlike = 3, kSamples = 9, kVariants = 7;
  Program program{model.collection,
                  [=, &model](ComputationGraph& graph, unsigned sample) {
                    Random random(sample);
                    Step step{graph, model, random};
                    step.fixed = step.input(Dim({4}));
                    step.before = lookup(graph, model.table4, sample % 9);
                    step.state = relu(parameter(graph, model.weights44[8]) * step.before);
                    step.watched = {step.before, step.state};
                    for (unsigned i = 0; i < steps; ++i) {
                      step.variant = sample < kAlike ? 0 : random.below(kVariants);
                      const Expression next = record(step);
                      step.before = std::exchange(step.state, next);
                      step.watched.push_back(next);
                    }
                    step.losses.push_back(sum_elems(step.state));
                    return Sample{sum(step.losses), step.watched};
                  },
                  kSamples};
  program.derives = true;
  return program;
}

inline void expect_same_chains(const RecordStep& record, DType dtype = DType::f32) {
  const RandomModel model(dtype);
  expect_same_in_all_modes(chain_program(model, record));
}

}  // namespace dynet_like::testing

// Programs with DyNet's interface, one graph after the other: cells are found, and change no bit.
#include <gtest/gtest.h>

#include <vector>

#include "dynet/dynet.h"
#include "dynet/expr.h"
#include "dynet/init.h"
#include "dynet/param-init.h"
#include "dynet/training.h"

namespace {

using namespace dynet;

struct Outcome {
  std::vector<float> numbers;
  std::uint64_t first_in_cells = 0, last_in_cells = 0;
};

// A chain written gate by gate, a graph for every sample, and an update after each.
Outcome train(bool with_cells, unsigned samples) {
  DynetParams params;
  params.random_seed = 5;
  params.autobatch = 1;
  initialize(params);
  Outcome outcome;
  {
    ParameterCollection model;
    SimpleSGDTrainer trainer(model, 0.1f);
    const Parameter w = model.add_parameters({8, 8}), u = model.add_parameters({8, 8});
    const Parameter b = model.add_parameters({8});
    const LookupParameter words = model.add_lookup_parameters(10, {8});
    for (unsigned sample = 0; sample < samples; ++sample) {
      ComputationGraph graph(with_cells);
      const Expression ew = parameter(graph, w), eu = parameter(graph, u), eb = parameter(graph, b);
      const auto step = [&](const Expression& h, unsigned word) {
        const Expression x = lookup(graph, words, word);
        const Expression a = tanh(affine_transform({eb, ew, h, eu, x}));
        return cmult(logistic(eu * a), a) + h;
      };
      Expression h = lookup(graph, words, sample % 10);
      for (unsigned i = 0; i < 20; ++i) {
        h = step(h, (sample + i) % 10);
      }
      const Expression loss = squared_norm(h);
      outcome.numbers.push_back(as_scalar(graph.forward(loss)));
      graph.backward(loss);
      trainer.update();
      outcome.last_in_cells = graph.explain().nodes_in_cells;
      if (sample == 0) outcome.first_in_cells = outcome.last_in_cells;
    }
    for (float value : as_vector(*w.values())) outcome.numbers.push_back(value);
    for (float value : as_vector(*u.values())) outcome.numbers.push_back(value);
  }
  return outcome;
}

// What was found in one graph is known in the next.
TEST(CompatCells, AreFoundFromGraphToGraph) {
  const Outcome with = train(true, 20), without = train(false, 20);
  EXPECT_EQ(with.numbers, without.numbers);
  EXPECT_EQ(with.first_in_cells, 0u);
  EXPECT_GE(with.last_in_cells, 80u);
  EXPECT_EQ(without.last_in_cells, 0u);
}

}  // namespace

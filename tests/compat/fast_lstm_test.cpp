// <dynet/fast-lstm.h>: the formula, without the peepholes that it has.
#include <dynet/fast-lstm.h>

#include "tests/compat/coupled_cells.h"

namespace dynet {
namespace {

TEST(CompatFastLstmTest, FollowsTheFormula) {
  ParameterCollection model;
  FastLSTMBuilder lstm(2, 3, 4, model);
  randomise(model, 1);
  EXPECT_EQ(layout_of(model), coupled_layout("fast-lstm-builder", 0, 3, 4, 1) +
                                  coupled_layout("fast-lstm-builder", 11, 4, 4, 1));
  ComputationGraph graph;
  lstm.new_graph(graph);
  lstm.start_new_sequence();
  std::vector<PlainState> states(2, {Doubles(4), Doubles(4)});
  for (unsigned t = 0; t < 4; ++t) {
    Doubles x = some_vector(t, 3);
    const Expression y = lstm.add_input(as_input(graph, x));
    for (unsigned layer = 0; layer < 2; ++layer) {
      states[layer] = plain_coupled_cell(lstm.params[layer], x, states[layer], {false, false});
      x = states[layer].h;
      expect_near(lstm.final_s()[layer], states[layer].c);
    }
    expect_near(y, x);
  }
  EXPECT_EQ(lstm.num_h0_components(), 4u);
}

TEST(CompatFastLstmTest, PeepholesHaveNoGradient) {
  ParameterCollection model;
  FastLSTMBuilder lstm(1, 3, 4, model);
  randomise(model, 1);
  ComputationGraph graph;
  lstm.new_graph(graph);
  lstm.start_new_sequence();
  lstm.add_input(some_input(graph, 0, 3));
  graph.backward(squared_norm(lstm.add_input(some_input(graph, 1, 3))));
  for (unsigned i = 0; i < lstm.params[0].size(); ++i) {
    EXPECT_EQ(lstm.params[0][i].p->has_grad(), i != 2 && i != 6) << i;
  }
  model.reset_gradient();
}

TEST(CompatFastLstmTest, DropoutIsOfInputs) {
  ParameterCollection model;
  FastLSTMBuilder lstm(1, 1, 4, model);
  randomise(model, 1);
  lstm.set_dropout(0.5f);
  ComputationGraph graph;
  lstm.new_graph(graph);
  const auto after = [&](float x) {
    lstm.start_new_sequence();
    return values_of(lstm.add_input(input(graph, x)));
  };
  bool dropped = false, kept = false;
  lstm.disable_dropout();
  const auto zero = after(0), twice = after(2);
  lstm.set_dropout(0.5f);
  for (int i = 0; i < 40; ++i) {
    const auto y = after(1);
    dropped |= y == zero;
    kept |= y == twice;
    EXPECT_TRUE(y == zero || y == twice);
  }
  EXPECT_TRUE(dropped && kept);
}

}  // namespace
}  // namespace dynet

// <dynet/deep-lstm.h>: the formula.
#include <dynet/deep-lstm.h>

#include "tests/compat/coupled_cells.h"

namespace dynet {
namespace {

TEST(CompatDeepLstmTest, FollowsTheFormula) {
  ParameterCollection model;
  DeepLSTMBuilder lstm(3, 2, 4, model);
  randomise(model, 1);
  EXPECT_EQ(layout_of(model), coupled_layout("deep-lstm-builder", 0, 2, 4, 4) +
                                  coupled_layout("deep-lstm-builder", 11, 6, 4, 4) +
                                  coupled_layout("deep-lstm-builder", 22, 6, 4, 4));
  ComputationGraph graph;
  lstm.new_graph(graph);
  lstm.start_new_sequence();
  std::vector<PlainState> states(3, {Doubles(4), Doubles(4)});
  for (unsigned t = 0; t < 3; ++t) {
    const Doubles x = some_vector(t, 2);
    const Expression y = lstm.add_input(as_input(graph, x));
    Doubles all, in = x;
    for (unsigned layer = 0; layer < 3; ++layer) {
      states[layer] = plain_coupled_cell(lstm.params[layer], in, states[layer], {true, t > 0});
      in = joined(x, states[layer].h);
      all = joined(all, states[layer].h);
      expect_near(lstm.final_h()[layer], states[layer].h);
      expect_near(lstm.final_s()[layer], states[layer].c);
    }
    expect_near(y, all);
    expect_near(lstm.back(), all);
  }
}

}  // namespace
}  // namespace dynet

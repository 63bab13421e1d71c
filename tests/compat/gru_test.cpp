// <dynet/gru.h>: the formula.
#include <dynet/gru.h>

#include "tests/compat/builders.h"

namespace dynet {
namespace {

TEST(CompatGruTest, FollowsTheFormula) {
  ParameterCollection model;
  GRUBuilder gru(2, 3, 4, model);
  randomise(model, 1);
  EXPECT_EQ(layout_of(model),
            "/gru-builder/_0 {4,3}\n/gru-builder/_1 {4,4}\n/gru-builder/_2 {4}\n"
            "/gru-builder/_3 {4,3}\n/gru-builder/_4 {4,4}\n/gru-builder/_5 {4}\n"
            "/gru-builder/_6 {4,3}\n/gru-builder/_7 {4,4}\n/gru-builder/_8 {4}\n"
            "/gru-builder/_9 {4,4}\n/gru-builder/_10 {4,4}\n/gru-builder/_11 {4}\n"
            "/gru-builder/_12 {4,4}\n/gru-builder/_13 {4,4}\n/gru-builder/_14 {4}\n"
            "/gru-builder/_15 {4,4}\n/gru-builder/_16 {4,4}\n/gru-builder/_17 {4}\n");
  ComputationGraph graph;
  gru.new_graph(graph);
  ASSERT_EQ(gru.param_vars.size(), 2u);
  EXPECT_EQ(values_of(gru.param_vars[0][8]), as_vector(*gru.params[0][8].values()));
  gru.start_new_sequence();
  std::vector<Doubles> h(2, Doubles(4));
  for (unsigned t = 0; t < 4; ++t) {
    Doubles x = some_vector(t, 3);
    const Expression y = gru.add_input(as_input(graph, x));
    for (unsigned layer = 0; layer < 2; ++layer) {
      const std::vector<Parameter>& p = gru.params[layer];
      const Doubles before = h[layer];
      const Doubles z = plain_logistic(plain_affine(p[2], {{p[0], x}, {p[1], before}}));
      const Doubles r = plain_logistic(plain_affine(p[5], {{p[3], x}, {p[4], before}}));
      const Doubles reset = r * before;
      const Doubles n = plain_tanh(plain_affine(p[8], {{p[6], x}, {p[7], reset}}));
      x = h[layer] = one_minus(z) * before + z * n;
    }
    expect_near(y, x);
  }
  EXPECT_EQ(gru.num_h0_components(), 2u);
}

// Dropout is of what goes into layers and comes out, not of the state.
TEST(CompatGruTest, DropoutIsOfInputsAndOutputs) {
  ParameterCollection model;
  GRUBuilder gru(1, 3, 200, model);
  randomise(model, 1);
  ComputationGraph graph;
  gru.new_graph(graph);
  gru.set_dropout(0.5f);
  gru.start_new_sequence();
  const std::vector<float> y = values_of(gru.add_input(some_input(graph, 0, 3)));
  const std::vector<float> h = values_of(gru.back());
  unsigned zeros = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_TRUE(y[i] == 0 || y[i] == 2 * h[i]) << y[i] << ' ' << h[i];
    EXPECT_NE(h[i], 0);
    zeros += y[i] == 0 ? 1 : 0;
  }
  EXPECT_NEAR(zeros, 100, 40);
}

}  // namespace
}  // namespace dynet

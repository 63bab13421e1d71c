// The GRU layer: its formula, and its first values.
#include "nn/gru.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "tests/support/layers.h"

namespace dynet_like::nn {
namespace {

// That of the operation, which tests/ops compares with plain loops; without x, its terms are 0.
TEST(GruTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const GRU gru(model, 3, 5);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const auto p = [&](const std::string& name) {
    return parameter(graph, Parameter(model.find("/gru/" + name)));
  };
  const Expression matrix = drawn_matrix(graph, 3, 4, 1);
  std::vector<Expression> xs;
  for (unsigned i = 0; i < 4; ++i) xs.push_back(pick(matrix, i, 1));
  const std::vector<Expression> states = gru(xs);
  ASSERT_EQ(states.size(), 4u);
  Expression h = zeros(graph, {5});
  for (unsigned i = 0; i < 4; ++i) {
    h = gru_cell(p("b_h"), p("U"), h, p("b_x"), p("W"), xs[i]);
    EXPECT_EQ(as_doubles(states[i].value()), as_doubles(h.value()));
  }
  EXPECT_EQ(as_doubles(gru.step_without_input(h).value()),
            as_doubles(gru_cell(p("b_h"), p("U"), h).value()));
  EXPECT_TRUE(gru({}).empty());
}

TEST(GruTest, FirstValues) {
  ParameterCollection model;
  const GRU gru(model, 3, 2);
  EXPECT_EQ(numbers(model, "/gru/b_x"), Doubles(6));
  EXPECT_EQ(numbers(model, "/gru/b_h"), Doubles(6));
  EXPECT_EQ(model.find("/gru/W")->dim, Dim({6, 3}));
  EXPECT_EQ(model.find("/gru/U")->dim, Dim({6, 2}));
  // Glorot's bound is that of one gate's matrix, and nearly reached.
  const double bound = std::sqrt(6.0 / (2 + 3));
  double largest = 0;
  for (const double w : numbers(model, "/gru/W")) largest = std::max(largest, std::abs(w));
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.8 * bound);
}

}  // namespace
}  // namespace dynet_like::nn

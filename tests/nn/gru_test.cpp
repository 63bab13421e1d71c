// The GRU layer: formula against plain doubles, gradients, batching, shapes, errors, learning.
#include "nn/gru.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "tests/support/layers.h"

namespace dynet_like::nn {
namespace {

/// The formula of the header; without x, its terms are 0. The rows are in the order r, z, n.
Doubles plain_gru(const ParameterCollection& model, const Doubles& h, const Doubles* x) {
  const std::size_t n = h.size();
  Doubles from_h = numbers(model, "/gru/b_h"), from_x(3 * n);
  add_product(from_h, numbers(model, "/gru/U"), h);
  if (x != nullptr) {
    from_x = numbers(model, "/gru/b_x");
    add_product(from_x, numbers(model, "/gru/W"), *x);
  }
  Doubles after(n);
  for (std::size_t e = 0; e < n; ++e) {
    const double r = sigmoid(from_x[e] + from_h[e]), z = sigmoid(from_x[n + e] + from_h[n + e]);
    const double candidate = std::tanh(from_x[2 * n + e] + r * from_h[2 * n + e]);
    after[e] = (1 - z) * candidate + z * h[e];
  }
  return after;
}

TEST(GruTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const GRU gru(model, 3, 5);
  const Embedding inputs(model, 4, 3);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  std::vector<Expression> xs;
  for (unsigned i = 0; i < 4; ++i) xs.push_back(inputs(graph, i));
  const std::vector<Expression> states = gru(xs);
  ASSERT_EQ(states.size(), 4u);
  Doubles expected(5);
  for (unsigned i = 0; i < 4; ++i) {
    const Doubles x = row(inputs.table(), i);
    expected = plain_gru(model, expected, &x);
    expect_near(states[i].value(), expected);
  }
  EXPECT_TRUE(gru({}).empty());
}

TEST(GruTest, WithoutInputItsTermsAreZero) {
  ParameterCollection model(1, DType::f64);
  const GRU gru(model, 3, 4);
  const Embedding states(model, 2, 4);
  randomise(model, 3);
  ComputationGraph graph(double_options());
  const Expression sum = states(graph, 0) + states(graph, 1);
  const Doubles h = as_doubles(sum.value());
  expect_near(gru.step_without_input(sum).value(), plain_gru(model, h, nullptr));
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

// ------------------------------------------------------------- a child-sum tree over a sequence

}  // namespace
}  // namespace dynet_like::nn

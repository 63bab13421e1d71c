// Values that follow from parameters alone: computed once, in any number and depth.
#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"

namespace dynet_like {
namespace {

// Passes whose time grew with the square of these numbers would take minutes.
constexpr unsigned kMany = 200'000;

TEST(ParameterFunctions, MayBeLongChains) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2});
  w.set_value({1.0f, 2.0f});
  ComputationGraph graph;
  Expression x = parameter(graph, w);
  for (unsigned i = 0; i < kMany; ++i) x = -x;
  const Expression loss = sum_elems(x);
  EXPECT_EQ(loss.value().at(0), 3.0);
  EXPECT_EQ(graph.backward(loss).values(w), (std::vector<float>{1.0f, 1.0f}));
}

TEST(ParameterFunctions, MayBeOfManyParameters) {
  ParameterCollection model;
  std::vector<Parameter> weights;
  std::vector<Expression> terms;
  ComputationGraph graph;
  for (unsigned i = 0; i < kMany / 4; ++i) {
    weights.push_back(model.add_parameters({1}));
    weights.back().set_value({static_cast<float>(i % 8)});
    terms.push_back(square(parameter(graph, weights.back())));
  }
  const Expression loss = sum(terms);
  const Gradients& gradients = graph.backward(loss);
  for (unsigned i : {0u, 1u, 5u, kMany / 4 - 1}) {
    EXPECT_EQ(gradients.values(weights[i])[0], 2.0f * (i % 8));
  }
}

// The contributions of all consumers reach a value before it passes its gradient on.
TEST(ParameterFunctions, SumOverConsumersInRecordingOrder) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1});
  w.set_value({3.0f});
  ComputationGraph graph;
  const Expression a = square(parameter(graph, w)), b = a * 2.0f, c = cmult(a, b);
  const Expression loss = sum_elems(a + b + c);  // w^2 + 2 w^2 + 2 w^4
  EXPECT_EQ(loss.value().at(0), 9.0 + 18.0 + 162.0);
  EXPECT_EQ(graph.backward(loss).values(w)[0], 6.0f + 12.0f + 216.0f);
}

}  // namespace
}  // namespace dynet_like

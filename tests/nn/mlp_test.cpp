// MLP, Highway and activations: formulas against plain doubles, gradients, batching, errors.
#include "tests/support/layers.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

TEST(ActivationTest, GeluFollowsTheFormula) {
  ComputationGraph graph(double_options());
  const std::vector<float> xs = {-3, -0.5f, 0, 0.5f, 2};
  const Tensor got = gelu(input(graph, {5}, xs)).value();
  for (unsigned i = 0; i < 5; ++i) {
    const double x = static_cast<double>(xs[i]);
    EXPECT_NEAR(got.at(i), x * (1 + std::erf(x / std::sqrt(2.0))) / 2, 1e-7);
  }
}

TEST(MLPTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const MLP mlp(model, 3, {5, 4, 2}, {.activation = tanh});
  const Parameter input = model.add_parameters({3});
  randomise(model, 2);
  ComputationGraph graph(double_options());
  Doubles y = as_doubles(input.values());
  for (const char* layer : {"/mlp/layer_0", "/mlp/layer_1", "/mlp/layer_2"}) {
    Doubles next = numbers(model, std::string(layer) + "/b");
    add_product(next, numbers(model, std::string(layer) + "/W"), y);
    y = next;
    if (y.size() != 2) {
      for (double& value : y) value = std::tanh(value);
    }
  }
  expect_near(mlp(parameter(graph, input)).value(), y);
}

TEST(MLPTest, DropoutIsBetweenLayersAndInTrainingOnly) {
  ParameterCollection model;
  const MLP two(model, 4, {50, 3}, {.dropout = 0.5f}), one(model, 4, {3}, {.dropout = 0.5f});
  ComputationGraph training({.seed = 1}), inference({.inference = true});
  const Expression x = ones(training, {4}), same = ones(inference, {4});
  EXPECT_NE(as_vector(two(x).value()), as_vector(two(same).value()));
  EXPECT_EQ(as_vector(one(x).value()), as_vector(one(same).value()));
}

TEST(HighwayTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const Highway highway(model, 3, {.layers = 2, .activation = tanh});
  EXPECT_EQ(numbers(model, "/highway/b"), (Doubles{-1, -1, -1, 0, 0, 0}));
  const Parameter input = model.add_parameters({3});
  randomise(model, 2);
  ComputationGraph graph(double_options());
  Doubles y = as_doubles(input.values());
  for (const char* suffix : {"", "_1"}) {
    Doubles sums = numbers(model, std::string("/highway/b") + suffix);
    add_product(sums, numbers(model, std::string("/highway/W") + suffix), y);
    for (unsigned i = 0; i < 3; ++i) {
      const double t = sigmoid(sums[i]);
      y[i] = t * std::tanh(sums[3 + i]) + (1 - t) * y[i];
    }
  }
  expect_near(highway(parameter(graph, input)).value(), y);
}

TEST(MLPTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_THROW(MLP(model, 3, {}), UsageError);
  EXPECT_THROW(MLP(model, 3, {4, 0}), ShapeError);
  EXPECT_THROW(Highway(model, 0), ShapeError);
  EXPECT_THROW(Highway(model, 3, {.layers = 0}), UsageError);
  ComputationGraph graph;
  EXPECT_THROW(MLP(model, 3, {4, 2})(ones(graph, {4})), ShapeError);
  EXPECT_THROW(MLP(model, 3, {4, 2}, {.dropout = -1})(ones(graph, {3})), UsageError);
  EXPECT_THROW(Highway(model, 3)(ones(graph, {4})), ShapeError);
}

}  // namespace
}  // namespace dynet_like::nn

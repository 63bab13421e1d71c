// VariationalDropout: one mask per sequence, none outside training, batching, errors.
#include "nn/variational_dropout.h"

#include <gtest/gtest.h>

#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/lstm.h"
#include "tests/support/layers.h"

namespace dynet_like::nn {
namespace {

TEST(VariationalDropoutTest, EveryPositionHasTheSameMask) {
  GraphOptions options;
  options.seed = 1;
  ComputationGraph graph(options);
  const VariationalDropout dropout(0.25f);
  const auto mask = dropout.start(graph, 1000), other = dropout.start(graph, 1000);
  const Expression x = ones(graph, {1000});
  const std::vector<float> first = as_vector(mask(x).value());
  EXPECT_EQ(as_vector(mask(x).value()), first);
  EXPECT_NE(as_vector(other(x).value()), first);
  const std::vector<float> columns = as_vector(mask(ones(graph, {1000, 2})).value());
  EXPECT_EQ(std::vector<float>(columns.begin() + 1000, columns.end()), first);
  std::size_t zeros = 0;
  for (const float y : first) {
    EXPECT_TRUE(y == 0 || y == 1 / 0.75f) << y;
    zeros += y == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(zeros), 250, 50);
}

TEST(VariationalDropoutTest, NothingIsRecordedWhereItDoesNothing) {
  ComputationGraph training, inference({.inference = true});
  const Expression x = ones(inference, {3}), y = ones(training, {3});
  EXPECT_EQ(VariationalDropout(0.5f).start(inference, 3)(x).i, x.i);
  EXPECT_EQ(VariationalDropout(0).start(training, 3)(y).i, y.i);
  EXPECT_EQ(training.size(), 1u);
  EXPECT_EQ(inference.size(), 1u);
}

TEST(VariationalDropoutTest, Errors) {
  for (const float rate : {-0.1f, 1.0f, std::nanf("")}) {
    EXPECT_THROW(VariationalDropout{rate}, UsageError);
  }
  const VariationalDropout dropout(0.5f);
  ComputationGraph without;
  EXPECT_THROW(dropout.start(without, 3), UsageError);
  GraphOptions options;
  options.seed = 1;
  ComputationGraph graph(options);
  const auto mask = dropout.start(graph, 3);
  EXPECT_THROW(mask(ones(graph, {4})), ShapeError);
  EXPECT_THROW(mask(ones(graph, {1})), ShapeError);
  EXPECT_THROW(mask(ones(graph, {3, 2, 2})), ShapeError);
}

}  // namespace
}  // namespace dynet_like::nn

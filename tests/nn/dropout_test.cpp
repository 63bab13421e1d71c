// Dropout of a mask per sequence and of words: how much, when, batching, errors.
#include "tests/support/layers.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

TEST(VariationalDropoutTest, EveryPositionHasTheSameMask) {
  ComputationGraph graph({.seed = 1});
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
  ComputationGraph graph({.seed = 1});
  const auto mask = dropout.start(graph, 3);
  EXPECT_THROW(mask(ones(graph, {4})), ShapeError);
  EXPECT_THROW(mask(ones(graph, {1})), ShapeError);
  EXPECT_THROW(mask(ones(graph, {3, 2, 2})), ShapeError);
}

TEST(DropWordsTest, ReplacesAShareOfTheWords) {
  const std::vector<unsigned> words(10000, 7);
  Minibatch batch;
  ComputationGraph& graph = batch.new_graph();
  const std::vector<unsigned> some = drop_words(graph, words, 3, 0.1f);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(some, 3u)), 1000, 100);
  EXPECT_EQ(std::ranges::count(some, 7u) + std::ranges::count(some, 3u), 10000);
  EXPECT_NE(drop_words(graph, words, 3, 0.1f), some);
  EXPECT_EQ(drop_words(graph, words, 3, 0), words);
  EXPECT_EQ(drop_words(graph, words, 3, 1), std::vector<unsigned>(10000, 3));
  for (const float p : {-0.1f, 1.1f, std::nanf("")}) {
    EXPECT_THROW(drop_words(graph, words, 3, p), UsageError);
  }
}

TEST(DropWordsTest, FollowsFromTheSeedOfTheGraph) {
  const std::vector<unsigned> words(100, 7);
  const auto some = [&](std::uint64_t seed) {
    ComputationGraph graph;
    graph.set_seed(seed);
    return drop_words(graph, words, 3, 0.5f);
  };
  EXPECT_EQ(some(1), some(1));
  EXPECT_NE(some(1), some(2));
  ComputationGraph without;
  EXPECT_THROW(drop_words(without, words, 3, 0.5f), UsageError);
  ComputationGraph inference({.inference = true});
  EXPECT_EQ(drop_words(inference, words, 3, 0.5f), words);
}

}  // namespace
}  // namespace dynet_like::nn

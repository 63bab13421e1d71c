// Word dropout: how many words, and when.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "nn/drop_words.h"

namespace dynet_like::nn {
namespace {

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
  GraphOptions options;
  options.inference = true;
  ComputationGraph inference(options);
  EXPECT_EQ(drop_words(inference, words, 3, 0.5f), words);
}

}  // namespace
}  // namespace dynet_like::nn

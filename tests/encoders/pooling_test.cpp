// Pooling of pieces, and mixtures of layers.
#include <gtest/gtest.h>

#include <cmath>

#include "nn/encoders/pooling.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

using Words = std::vector<std::int32_t>;
using Floats = std::vector<float>;

class PoolingTest : public ::testing::Test {
 protected:
  ComputationGraph graph_;
  const Expression pieces_ = input(graph_, {2, 5}, {1, 10, 2, 20, 4, 40, 8, 80, 16, 160});

  Floats pooled(const Words& words, unsigned count, Pooling pooling) {
    return as_vector(pool_words(pieces_, words, count, pooling).value());
  }
};

TEST_F(PoolingTest, OfWords) {
  const Words words = {-1, 0, 0, 1, -1};
  EXPECT_EQ(pooled(words, 2, Pooling::first), (Floats{2, 20, 8, 80}));
  EXPECT_EQ(pooled(words, 2, Pooling::mean), (Floats{3, 30, 8, 80}));
  // Words without pieces.
  EXPECT_EQ(pooled({-1, 1, 1, -1, 3}, 5, Pooling::first),
            (Floats{0, 0, 2, 20, 0, 0, 16, 160, 0, 0}));
  EXPECT_EQ(pooled({-1, 1, 1, -1, 3}, 4, Pooling::mean), (Floats{0, 0, 3, 30, 0, 0, 16, 160}));
  EXPECT_EQ(pooled({-1, -1, -1, -1, -1}, 1, Pooling::mean), (Floats{0, 0}));
}

TEST_F(PoolingTest, OfSentences) {
  EXPECT_EQ(as_vector(pool_sentence(pieces_).value()), (Floats{1, 10}));
  const Expression mean = pool_sentence(pieces_, Pooling::mean);
  EXPECT_EQ(mean.dim(), Dim({2}));
  EXPECT_NEAR(mean.value().at(0), 6.2, 1e-6);
  EXPECT_NEAR(mean.value().at(1), 62, 1e-5);
}

TEST_F(PoolingTest, RefusesWordsThatDoNotFit) {
  const auto message = [&](const Words& words, unsigned count) {
    return message_of<UsageError>([&] { pool_words(pieces_, words, count); });
  };
  EXPECT_EQ(message({0, 1}, 2),
            "[pool_words] need the word of each of 5 pieces, and at least 1 word; got 2 and 2");
  EXPECT_EQ(message({0, 0, 0, 0, 0}, 0),
            "[pool_words] need the word of each of 5 pieces, and at least 1 word; got 5 and 0");
  EXPECT_EQ(message({0, 1, 2, 2, -1}, 2),
            "[pool_words] need numbers of words that do not decrease, below 2; got 2 after 1");
  EXPECT_EQ(message({0, 1, 0, 1, 1}, 2),
            "[pool_words] need numbers of words that do not decrease, below 2; got 0 after 1");
}

TEST(ScalarMixTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const ScalarMix mix(model, 3);
  const LookupParameter table = model.add_lookup_parameters(9, {2});
  ComputationGraph graph(double_options());
  const auto layers = [&] {
    std::vector<Expression> all;
    for (unsigned k = 0; k < 3; ++k) {
      all.push_back(reshape(lookup(graph, table, {3 * k, 3 * k + 1, 3 * k + 2}), {2, 3}));
    }
    return all;
  };
  expect_near(mix(layers()).value(), as_doubles(average(layers()).value()));
  graph.clear();
  randomise(model, 3);
  const Doubles scores = numbers(model, "/scalar_mix/s"),
                gamma = numbers(model, "/scalar_mix/gamma");
  double total = 0;
  for (const double score : scores) total += std::exp(score);
  Doubles expected(6, 0);
  for (unsigned k = 0; k < 3; ++k) {
    for (unsigned i = 0; i < 6; ++i) {
      expected[i] += gamma[0] * std::exp(scores[k]) / total * row(table, 3 * k + i / 2)[i % 2];
    }
  }
  expect_near(mix(layers()).value(), expected);
  EXPECT_EQ(message_of<UsageError>([&] { mix(std::vector<Expression>(2)); }),
            "[ScalarMix] need 3 layers; got 2");
}

}  // namespace
}  // namespace dynet_like::nn

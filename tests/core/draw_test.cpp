// Drawing from a softmax, and the largest of some elements.
#include "dynet_like/core/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/largest.h"

namespace dynet_like {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor column(std::vector<float>& values) {
  return {Dim({static_cast<unsigned>(values.size())}), values.data()};
}

TEST(DrawTest, HasTheFrequenciesOfTheSoftmax) {
  std::vector<float> scores = {1000, -kInfinity, 1001, 999.5f, 900};
  Random random(3);
  constexpr unsigned kDraws = 100'000;
  std::vector<unsigned> counts(scores.size());
  for (unsigned i = 0; i < kDraws; ++i) ++counts[draw_from_softmax(column(scores), random)];
  const double total = 1 + std::exp(1.0) + std::exp(-0.5);
  const auto expect = [&](unsigned place, double probability) {
    const double deviation = std::sqrt(probability * (1 - probability) / kDraws);
    EXPECT_NEAR(counts[place] / double{kDraws}, probability, 5 * deviation) << place;
  };
  expect(0, 1 / total);
  expect(2, std::exp(1.0) / total);
  expect(3, std::exp(-0.5) / total);
  EXPECT_EQ(counts[1] + counts[4], 0u);
}

TEST(DrawTest, TakesOneNumberWhichDecides) {
  std::vector<float> scores = {0, 1, 2, 3, 4, 5};
  Random first(5), second(5);
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(draw_from_softmax(column(scores), first), draw_from_softmax(column(scores), second));
    EXPECT_EQ(first.position(), i + 1);
  }
  std::vector<double> doubles(scores.begin(), scores.end());
  Random third(5), fourth(5);
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(draw_from_softmax(Tensor(Dim({6}), doubles.data()), third),
              draw_from_softmax(column(scores), fourth));
  }
}

// The smallest number of all draws the first that has a probability.
TEST(DrawTest, NothingDrawsTheImpossible) {
  constexpr std::uint64_t kSeed = 1, kPositionOfZero = 4569696;
  ASSERT_EQ(Random(kSeed, kPositionOfZero).uniform(), 0);
  for (std::size_t first = 0; first < 4; ++first) {
    std::vector<float> scores(4, -kInfinity);
    for (std::size_t i = first; i < scores.size(); ++i) scores[i] = static_cast<float>(i);
    Random random(kSeed, kPositionOfZero);
    EXPECT_EQ(draw_from_softmax(column(scores), random), first);
  }
}

TEST(DrawTest, AmongSomePlaces) {
  std::vector<float> scores = {9, 1, 2, 9, 1.5f};
  Random random(3), other(3);
  std::vector<float> alone = {1.5f, 1};
  for (unsigned i = 0; i < 100; ++i) {
    const unsigned drawn = draw_from_softmax(column(scores), {4, 1}, random);
    EXPECT_EQ(drawn, draw_from_softmax(column(alone), other) == 0 ? 4u : 1u);
  }
}

TEST(DrawTest, NeedsScores) {
  std::vector<float> none, nothing = {-kInfinity, -kInfinity}, nan = {1, NAN};
  std::vector<float> infinite = {1, kInfinity};
  Random random(1);
  EXPECT_THROW(draw_from_softmax(column(nothing), random), NumericError);
  EXPECT_THROW(draw_from_softmax(column(nan), random), NumericError);
  EXPECT_THROW(draw_from_softmax(column(infinite), random), NumericError);
  EXPECT_THROW(draw_from_softmax(column(nan), {0, 2}, random), ShapeError);
  EXPECT_THROW(draw_from_softmax(column(nan), std::vector<unsigned>(), random), ShapeError);
  EXPECT_THROW(draw_from_softmax(Tensor(Dim({0}), none.data()), random), ShapeError);
  EXPECT_EQ(draw_from_softmax(column(nan), {0}, random), 0u);
}

TEST(ArgmaxTest, OfSomePlaces) {
  std::vector<float> values = {5, 1, 3, 3, NAN};
  EXPECT_EQ(argmax(column(values)), 4u);
  EXPECT_EQ(argmax(column(values), {1, 3, 2}), 2u);
  EXPECT_EQ(argmax(column(values), {3, 0}), 0u);
  EXPECT_EQ(argmax(column(values), {0, 4}), 4u);
  EXPECT_THROW(argmax(column(values), {0, 5}), ShapeError);
  EXPECT_THROW(argmax(column(values), std::vector<unsigned>()), ShapeError);
}

}  // namespace
}  // namespace dynet_like

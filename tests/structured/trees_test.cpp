// Decoders of dependency trees: ties, long sentences, labels, errors. edges_test.cpp compares them
// with all trees.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/structured/dependency_trees.h"
#include "tests/support/all_trees.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

using TreeScores = std::vector<float>;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
const float kNaN = std::numeric_limits<float>::quiet_NaN();

using Decoder = std::vector<unsigned> (*)(std::span<const float>, Roots);

TEST(DependencyTreesTest, OfEqualTreesAlwaysTheSame) {
  const TreeScores zeros(20, 0.0f);
  EXPECT_EQ(eisner(zeros), (Heads{0, 1, 2, 3}));
  EXPECT_EQ(chu_liu_edmonds(zeros, Roots::any), (Heads{0, 0, 0, 0}));
  EXPECT_EQ(chu_liu_edmonds(zeros), chu_liu_edmonds(TreeScores(20, 7.0f)));
}

// Cycles inside cycles: contracted, and opened where the outer arc enters.
TEST(DependencyTreesTest, LongSentencesAreAsGoodAsTheirPlantedTrees) {
  Random random(7);
  for (const unsigned words : {30u, 80u}) {
    Heads planted(words);
    for (unsigned word = 1; word <= words; ++word) planted[word - 1] = word == 1 ? 0 : word - 1;
    TreeScores scores(words * (words + 1));
    for (float& score : scores) score = static_cast<float>(random.normal());
    for (unsigned i = 0; i < words; ++i) scores[planted[i] + (words + 1) * i] += 20;
    EXPECT_EQ(eisner(scores), planted);
    EXPECT_EQ(chu_liu_edmonds(scores), planted);
    // Any two words that follow each other like each other best: a chain of cycles.
    for (unsigned i = 0; i + 1 < words; ++i) scores[i + 2 + (words + 1) * i] += 25;
    const Heads found = chu_liu_edmonds(scores), without_crossing = eisner(scores);
    EXPECT_TRUE(is_tree(found, Roots::one));
    EXPECT_TRUE(is_projective(without_crossing));
    EXPECT_GE(score_of(scores, found), score_of(scores, without_crossing) - 1e-9);
  }
}

TEST(DependencyTreesTest, TensorsAreReadAsNumbersAre) {
  Random random(5);
  TreeScores scores(30);
  for (float& score : scores) score = static_cast<float>(random.normal());
  std::vector<double> doubles(scores.begin(), scores.end());
  const Tensor tensor(Dim({6, 5}), scores.data()), in_double(Dim({6, 5}), doubles.data());
  EXPECT_EQ(eisner(tensor), eisner(scores));
  EXPECT_EQ(eisner(in_double, Roots::any), eisner(scores, Roots::any));
  EXPECT_EQ(chu_liu_edmonds(tensor), chu_liu_edmonds(scores));
  EXPECT_EQ(chu_liu_edmonds(in_double), chu_liu_edmonds(scores));
}

TEST(DependencyTreesTest, LabelsAreTheBestOfEachArc) {
  // Two words, two labels: scores {label, head, word}.
  TreeScores scores = {0, 1, kNaN, 0, 5, 5, 3, 2, 0, 9, 0, 0};
  EXPECT_EQ(best_labels(scores, Heads{0, 1}), (Heads{1, 1}));
  EXPECT_EQ(best_labels(Tensor(Dim({2, 3, 2}), scores.data()), Heads{2, 0}), (Heads{0, 0}));
  EXPECT_THROW(best_labels(scores, Heads{1, 0}), NumericError);
  EXPECT_THROW(best_labels(scores, Heads{3, 0}), UsageError);
  EXPECT_THROW(best_labels(scores, Heads{}), UsageError);
  EXPECT_THROW(best_labels(TreeScores{}, Heads{0}), UsageError);
  EXPECT_THROW(best_labels(TreeScores(11), Heads{0, 1}), UsageError);
}

TEST(DependencyTreesTest, Errors) {
  for (const Decoder decode : {Decoder(eisner), Decoder(chu_liu_edmonds)}) {
    EXPECT_THROW(decode(TreeScores{}, Roots::one), UsageError);
    EXPECT_THROW(decode(TreeScores(7), Roots::one), UsageError);
    EXPECT_THROW(decode(TreeScores{0, 0, 0, kNaN, 0, 0}, Roots::one), NumericError);
    EXPECT_THROW(decode(TreeScores{kInfinity, 0, 0, 0, 0, 0}, Roots::one), NumericError);
    EXPECT_THROW(decode(TreeScores{-kInfinity, 0, 0, -kInfinity, 0, 0}, Roots::one), UsageError);
    // Two words that hang on the root only.
    const TreeScores two_roots = {0, 0, -kInfinity, 0, -kInfinity, 0};
    EXPECT_THROW(decode(two_roots, Roots::one), UsageError);
    EXPECT_EQ(decode(two_roots, Roots::any), (Heads{0, 0}));
  }
  TreeScores numbers(12);
  for (const Dim& dim : {Dim({3, 4}), Dim({12}), Dim({3, 2}, 2), Dim({3, 2, 2})}) {
    EXPECT_THROW(eisner(Tensor(dim, numbers.data())), ShapeError);
    EXPECT_THROW(chu_liu_edmonds(Tensor(dim, numbers.data())), ShapeError);
    EXPECT_THROW(best_labels(Tensor(dim, numbers.data()), Heads{0, 1, 2}), ShapeError);
  }
  EXPECT_EQ(message_of<UsageError>([] { eisner(TreeScores(7)); }),
            "[eisner] need n (n + 1) scores of arcs for n words, n at least 1; got 7");
  EXPECT_EQ(message_of<NumericError>([] {
              chu_liu_edmonds(TreeScores{0, 0, 0, kNaN, 0, 0});
            }),
            "[chu_liu_edmonds] need numbers below infinity; got nan for the arc from 0 to 2");
}

}  // namespace
}  // namespace dynet_like::nn

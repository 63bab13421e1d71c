// Decoders of dependency trees: against all trees one by one, ties, forbidden arcs, errors.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
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

/// What is drawn: any numbers, few different ones (so that sums are exact, and many trees equal),
/// or these with every third arc forbidden.
enum class Kind { any, ties, forbidden };

TreeScores draw(unsigned words, Kind kind, Random& random) {
  TreeScores scores;
  for (unsigned i = 0; i < words * (words + 1); ++i) {
    scores.push_back(kind == Kind::any ? static_cast<float>(3 * random.normal())
                                       : static_cast<float>(random.below(3)));
    if (kind == Kind::forbidden && random.below(3) == 0) scores.back() = -kInfinity;
  }
  for (unsigned word = 1; word <= words; ++word) scores[word + (words + 1) * (word - 1)] = kNaN;
  return scores;
}

using Decoder = std::vector<unsigned> (*)(std::span<const float>, Roots);

void expect_best(const TreeScores& scores, Roots roots, Decoder decode,
                 const std::vector<Heads>& all, bool is_exact) {
  double best = -kInfinity;
  for (const Heads& heads : all) best = std::max(best, score_of(scores, heads));
  if (best == -kInfinity) {
    EXPECT_THROW(decode(scores, roots), UsageError);
    return;
  }
  const Heads found = decode(scores, roots);
  EXPECT_TRUE(std::ranges::find(all, found) != all.end());
  if (is_exact) {
    EXPECT_EQ(score_of(scores, found), best);
  } else {
    EXPECT_NEAR(score_of(scores, found), best, 1e-9);
  }
  EXPECT_EQ(decode(scores, roots), found);
}

TEST(DependencyTreesTest, AgreeWithAllTreesOneByOne) {
  Random random(3);
  for (const Roots roots : {Roots::one, Roots::any}) {
    for (unsigned words = 1; words <= 6; ++words) {
      const std::vector<Heads> all = all_trees(words, roots);
      const std::vector<Heads> projective = all_projective_trees(words, roots);
      for (int i = 0; i < (words == 6 ? 20 : 60); ++i) {
        for (const Kind kind : {Kind::any, Kind::ties, Kind::forbidden}) {
          const TreeScores scores = draw(words, kind, random);
          expect_best(scores, roots, eisner, projective, kind != Kind::any);
          expect_best(scores, roots, chu_liu_edmonds, all, kind != Kind::any);
        }
      }
    }
  }
}

// Kirchhoff: (n + 1)^(n - 1) trees; with one child of the root n^(n - 1) (Cayley). Projective ones:
// Yuret (1998).
TEST(DependencyTreesTest, ThereAreAsManyTreesAsIsKnown) {
  const std::size_t any[] = {1, 3, 16, 125, 1296}, one[] = {1, 2, 9, 64, 625},
                    projective[] = {1, 3, 12, 55, 273};
  for (unsigned words = 1; words <= 5; ++words) {
    EXPECT_EQ(all_trees(words, Roots::any).size(), any[words - 1]);
    EXPECT_EQ(all_trees(words, Roots::one).size(), one[words - 1]);
    EXPECT_EQ(all_projective_trees(words, Roots::any).size(), projective[words - 1]);
  }
}

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
  TreeScores scores = draw(5, Kind::any, random);
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

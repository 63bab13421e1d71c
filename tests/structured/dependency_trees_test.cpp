// Losses and decoders of dependency trees: against all trees one by one, marginals, gradients,
// ties, long sentences, labels, errors.
#include "tests/support/all_trees.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/structured.h"

namespace dynet_like::nn {
namespace {

using LogPartition = Expression (*)(const Expression&, Roots);
using Loss = Expression (*)(const Expression&, std::span<const unsigned>, Roots);

/// Scores of the arcs of a sentence of n words, {n + 1, n}, as a parameter.
struct DependencyLosses {
  explicit DependencyLosses(unsigned words, DType dtype = DType::f64, double scale = 3)
      : model(1, dtype), scores(model.add_parameters({words + 1, words})) {
    randomise(model, 3 + words);
    const Tensor values = scores.values();
    for (unsigned i = 0; i < values.d.size(); ++i) values.set(i, scale * values.at(i));
  }

  ParameterCollection model;
  Parameter scores;
};

// Cayley: n^(n - 1) trees with one root, (n + 1)^(n - 1) with any number.
TEST(DependencyLossesTest, ThereAreAsManyTreesAsIsKnown) {
  for (const unsigned n : {1u, 7u, 8u, 9u, 16u, 17u}) {
    ComputationGraph graph(double_options());
    const Expression scores = zeros(graph, {n + 1, n});
    EXPECT_NEAR(matrix_tree_log_partition(scores, Roots::one).value().at(0), (n - 1) * std::log(n),
                1e-9);
    EXPECT_NEAR(matrix_tree_log_partition(scores, Roots::any).value().at(0),
                (n - 1) * std::log(n + 1), 1e-9);
  }
}

/// Every word hangs on the one before it.
Heads chain(unsigned words) {
  Heads heads;
  for (unsigned word = 0; word < words; ++word) heads.push_back(word);
  return heads;
}

/// The scores of a sentence of these words, the first ones of a large matrix.
Expression scores_of(ComputationGraph& graph, const DependencyLosses& fixture, unsigned words) {
  const unsigned size = (words + 1) * words;
  const Expression all = own_copy(graph, fixture.scores);
  return reshape(pick_range(reshape(all, Dim({all.dim().size()})), 0, size),
                 Dim({words + 1, words}));
}

TEST(DependencyLossesTest, SentencesOfAllLengthsShareBatches) {
  const DependencyLosses fixture(36, DType::f32);
  for (const Roots roots : {Roots::one, Roots::any}) {
    expect_lengths_share_batches(1.15, [&](ComputationGraph& graph, unsigned words) {
      return projective_tree_loss(scores_of(graph, fixture, words), chain(words), roots);
    });
  }
}

// Matrices have few sizes: 2 nodes per length, and 13 per size.
TEST(DependencyLossesTest, DeterminantsOfSomeSizesShareBatches) {
  const DependencyLosses fixture(36, DType::f32);
  std::vector<unsigned> lengths;
  for (unsigned words = 5; words <= 36; ++words) lengths.push_back(words);
  const double batches = batches_of(lengths, [&](ComputationGraph& graph, unsigned words) {
    return matrix_tree_loss(scores_of(graph, fixture, words), chain(words), Roots::one);
  });
  RecordProperty("different", static_cast<int>(batches));
  EXPECT_LE(batches, 2 * 32 + 13 * 5 + 20);
}

TEST(DependencyLossesTest, LargeScoresDoNotOverflow) {
  for (const LogPartition log_partition : {projective_log_partition, matrix_tree_log_partition}) {
    for (const float size : {1e4f, -1e4f}) {
      ComputationGraph graph;
      const Expression scores = constant(graph, {4, 3}, size);
      const double trees = log_partition == projective_log_partition ? 7 : 9;
      EXPECT_NEAR(log_partition(scores, Roots::one).value().at(0), 3 * size + std::log(trees),
                  1e-2);
    }
  }
}

TEST(DependencyLossesTest, Errors) {
  ComputationGraph graph;
  const Expression scores = ones(graph, {4, 3});
  const Heads good = {2, 0, 2}, crossing = {3, 0, 2}, two_roots = {0, 0, 2}, cycle = {2, 1, 0};
  for (const Loss loss : {projective_tree_loss, matrix_tree_loss}) {
    EXPECT_NO_THROW(loss(scores, good, Roots::one));
    EXPECT_THROW(loss(scores, two_roots, Roots::one), UsageError);
    EXPECT_NO_THROW(loss(scores, two_roots, Roots::any));
    EXPECT_THROW(loss(scores, cycle, Roots::any), UsageError);
    EXPECT_THROW(loss(scores, Heads{}, Roots::one), UsageError);
    EXPECT_THROW(loss(scores, Heads{0, 1}, Roots::one), UsageError);
    EXPECT_THROW(loss(scores, Heads{0, 1, 4}, Roots::one), UsageError);
    for (const Dim& dim : {Dim({3, 3}), Dim({4}), Dim({4, 3}, 2), Dim({2, 1, 2}), Dim({1})}) {
      EXPECT_THROW(loss(ones(graph, dim), good, Roots::one), ShapeError) << dim;
    }
  }
  EXPECT_THROW(projective_tree_loss(scores, crossing), UsageError);
  EXPECT_NO_THROW(matrix_tree_loss(scores, crossing));
  EXPECT_EQ(message_of<UsageError>([&] { tree_score(scores, cycle); }),
            "[tree_score] need the heads of a tree of 3 words with one root; got 2 1 0");
}

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

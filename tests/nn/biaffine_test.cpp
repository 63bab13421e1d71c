// Biaffine scorers: formulas against plain doubles, gradients, batching, errors.
#include "tests/support/layers.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr unsigned kSize = 8, kLabels = 9;

/// h' U d, U column-major.
double product(const Doubles& u, const double* h, const double* d) {
  double sum = 0;
  for (unsigned j = 0; j < kSize; ++j) {
    for (unsigned i = 0; i < kSize; ++i) sum += h[i] * u[j * kSize + i] * d[j];
  }
  return sum;
}

TEST(BiaffineTest, ArcsFollowTheFormula) {
  ParameterCollection model(1, DType::f64);
  const BiaffineArcs arcs(model, kSize);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const Expression heads = drawn_matrix(graph, kSize, 5, 1),
                   words = drawn_matrix(graph, kSize, 4, 2);
  const Expression scores = arcs(heads, words);
  ASSERT_EQ(scores.dim(), Dim({5, 4}));
  const Doubles h = as_doubles(heads.value()), d = as_doubles(words.value());
  const Doubles big = numbers(model, "/biaffine_arcs/U"), u = numbers(model, "/biaffine_arcs/u");
  const Tensor got = scores.value();
  for (unsigned j = 0; j < 4; ++j) {
    for (unsigned i = 0; i < 5; ++i) {
      double expected = product(big, &h[i * kSize], &d[j * kSize]);
      for (unsigned e = 0; e < kSize; ++e) expected += u[e] * h[i * kSize + e];
      EXPECT_NEAR(got.at(j * 5 + i), expected, 1e-12);
    }
  }
}

TEST(BiaffineTest, LabelsFollowTheFormula) {
  ParameterCollection model(1, DType::f64);
  const BiaffineLabels labels(model, kSize, kLabels);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const Expression heads = drawn_matrix(graph, kSize, 5, 1),
                   words = drawn_matrix(graph, kSize, 5, 2);
  const Expression scores = labels(heads, words);
  ASSERT_EQ(scores.dim(), Dim({kLabels, 5}));
  const Doubles h = as_doubles(heads.value()), d = as_doubles(words.value());
  const Doubles all = numbers(model, "/biaffine_labels/U");
  const Tensor got = scores.value();
  for (unsigned pair = 0; pair < 5; ++pair) {
    const Doubles head(h.begin() + pair * kSize, h.begin() + (pair + 1) * kSize),
        word(d.begin() + pair * kSize, d.begin() + (pair + 1) * kSize);
    Doubles expected = numbers(model, "/biaffine_labels/b");
    add_product(expected, numbers(model, "/biaffine_labels/V"), head);
    add_product(expected, numbers(model, "/biaffine_labels/W"), word);
    for (unsigned label = 0; label < kLabels; ++label) {
      Doubles u(kSize * kSize);
      for (unsigned j = 0; j < kSize; ++j) {
        for (unsigned i = 0; i < kSize; ++i) {
          u[j * kSize + i] = all[j * kSize * kLabels + label * kSize + i];
        }
      }
      expected[label] += product(u, head.data(), word.data());
      EXPECT_NEAR(got.at(pair * kLabels + label), expected[label], 1e-12);
    }
    // A pair alone is a vector.
    const Expression alone = labels(pick(heads, pair, 1), pick(words, pair, 1));
    EXPECT_EQ(alone.dim(), Dim({kLabels}));
    expect_near(alone.value(), expected);
  }
}

TEST(BiaffineTest, AllPairsAreThoseThatAreGiven) {
  ParameterCollection model(1, DType::f64);
  const BiaffineLabels labels(model, kSize, kLabels);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const Expression heads = drawn_matrix(graph, kSize, 5, 1),
                   words = drawn_matrix(graph, kSize, 4, 2);
  const Expression scores = labels.all_pairs(heads, words);
  ASSERT_EQ(scores.dim(), Dim({kLabels, 5, 4}));
  for (unsigned head = 0; head < 5; ++head) {
    for (unsigned word = 0; word < 4; ++word) {
      const Expression alone = labels(pick(heads, head, 1), pick(words, word, 1));
      expect_near(pick(pick(scores, word, 2), head, 1).value(), as_doubles(alone.value()));
    }
  }
}

struct Scorers {
  explicit Scorers(ParameterCollection& model)
      : arcs(model, kSize), labels(model, kSize, kLabels) {}

  BiaffineArcs arcs;
  BiaffineLabels labels;
};

/// Batches of a minibatch of 32 sentences: words as columns, a loss per word.
std::size_t batches_of(const Scorers& scorers, const std::function<unsigned(unsigned)>& words_of) {
  Minibatch batch;
  for (unsigned sample = 0; sample < 32; ++sample) {
    const unsigned words = words_of(sample);
    ComputationGraph& graph = batch.new_graph();
    const Expression all = drawn_matrix(graph, kSize, words + 1, sample),
                     own = pick_range(all, 1, words + 1, 1);
    const std::vector<unsigned> heads(words, sample % words);
    const Expression arcs = scorers.arcs(all, own),
                     labels = scorers.labels(select_cols(all, heads), own);
    batch.add_loss(cross_entropy(reshape(arcs, Dim({words + 1}, words)), heads));
    batch.add_loss(
        cross_entropy(reshape(labels, Dim({kLabels}, words)), std::vector<unsigned>(words, 1)));
  }
  batch.forward();
  return batch.explain().batches;
}

// Apart are only the four nodes of a sentence whose shapes have its length: the heads transposed,
// the scores of arcs and the losses of heads, and the heads that are chosen for labels.
TEST(BiaffineTest, LengthsShareBatches) {
  ParameterCollection model;
  const Scorers scorers(model);
  const std::size_t equal = batches_of(scorers, [](unsigned) { return 36; });
  const std::size_t different = batches_of(scorers, [](unsigned sample) { return 5 + sample; });
  EXPECT_LE(equal, 11u);
  EXPECT_LE(different, equal + 31 * 4);
}

TEST(BiaffineTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_THROW(BiaffineArcs(model, 0), ShapeError);
  EXPECT_THROW(BiaffineLabels(model, 0, 3), ShapeError);
  EXPECT_THROW(BiaffineLabels(model, 3, 0), ShapeError);
  const Scorers scorers(model);
  ComputationGraph graph;
  const Expression good = ones(graph, {kSize, 3}), wrong = ones(graph, {kSize + 1, 3});
  EXPECT_THROW(scorers.arcs(good, wrong), ShapeError);
  EXPECT_THROW(scorers.arcs(wrong, good), ShapeError);
  EXPECT_THROW(scorers.labels(good, wrong), ShapeError);
  EXPECT_THROW(scorers.labels(wrong, wrong), ShapeError);
  EXPECT_THROW(scorers.labels(good, ones(graph, {kSize, 4})), ShapeError);
  EXPECT_THROW(scorers.labels.all_pairs(good, wrong), ShapeError);
  EXPECT_THROW(scorers.labels.all_pairs(wrong, good), ShapeError);
}

}  // namespace
}  // namespace dynet_like::nn

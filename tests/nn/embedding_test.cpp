// Embeddings of several rows, and maps that share a table: values, gradients, batching, errors.
#include "tests/support/layers.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using Rows = std::vector<std::uint32_t>;

TEST(EmbeddingTest, SeveralRows) {
  ParameterCollection model(1, DType::f64);
  const Embedding embedding(model, 5, 3);
  ComputationGraph graph(double_options());
  const Rows rows = {4, 0, 4};
  Doubles all, sum(3), mean(3);
  for (const unsigned r : rows) {
    for (unsigned i = 0; i < 3; ++i) {
      const double value = row(embedding.table(), r)[i];
      all.push_back(value);
      sum[i] += value;
      mean[i] += value / 3;
    }
  }
  EXPECT_EQ(embedding.outputs(), 3u);
  EXPECT_EQ(embedding.columns(graph, rows).dim(), Dim({3, 3}));
  EXPECT_EQ(embedding.minibatch(graph, rows).dim(), Dim({3}, 3));
  EXPECT_EQ(embedding.columns(graph, Rows{1}).dim(), Dim({3, 1}));
  EXPECT_EQ(embedding.columns(graph, {1, 0}).dim(), Dim({3, 2}));
  expect_near(embedding.columns(graph, rows).value(), all);
  expect_near(embedding.minibatch(graph, rows).value(), all);
  expect_near(embedding.sum(graph, rows).value(), sum);
  expect_near(embedding.mean(graph, rows).value(), mean);
  expect_near(embedding.sum(graph, {}).value(), Doubles(3));
  expect_near(embedding.mean(graph, {}).value(), Doubles(3));
}

TEST(EmbeddingTest, EveryUseAddsToTheGradient) {
  ParameterCollection model;
  const Embedding embedding(model, 5, 2);
  ComputationGraph graph;
  const Rows rows = {4, 0, 4};
  const Gradients& gradients = graph.backward(sum_elems(embedding.columns(graph, rows)) +
                                              sum_elems(embedding.sum(graph, rows)) +
                                              sum_elems(embedding.mean(graph, rows)) * 3.0f);
  EXPECT_EQ(gradients.values(embedding.table(), 4), std::vector<float>(2, 6));
  EXPECT_EQ(gradients.values(embedding.table(), 0), std::vector<float>(2, 3));
  EXPECT_EQ(gradients.values(embedding.table(), 1), std::vector<float>(2, 0));
}

TEST(EmbeddingTest, Errors) {
  ParameterCollection model;
  const Embedding embedding(model, 5, 2);
  ComputationGraph graph;
  EXPECT_THROW(embedding.columns(graph, {}), UsageError);
  EXPECT_THROW(embedding.minibatch(graph, {}), UsageError);
  for (const auto function :
       {&Embedding::columns, &Embedding::minibatch, &Embedding::sum, &Embedding::mean}) {
    EXPECT_THROW((embedding.*function)(graph, Rows{1, 5}), UsageError);
  }
}

// ------------------------------------------------------------------------------ tied weights

TEST(TiedLinearTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const Embedding embedding(model, 5, 3);
  const TiedLinear output(model, embedding),
      plain(model, embedding, {.bias = false, .name = "plain"});
  EXPECT_THROW(model.find("/plain/b"), UsageError);
  EXPECT_EQ(model.size(), 2u);  // the table and one bias
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const Expression x = drawn_matrix(graph, 3, 2, 1);
  const Doubles values = as_doubles(x.value()), bias = numbers(model, "/tied_linear/b");
  Doubles expected, without;
  for (unsigned column = 0; column < 2; ++column) {
    for (unsigned word = 0; word < 5; ++word) {
      double score = 0;
      for (unsigned i = 0; i < 3; ++i) {
        score += row(embedding.table(), word)[i] * values[3 * column + i];
      }
      without.push_back(score);
      expected.push_back(score + bias[word]);
    }
  }
  expect_near(output(x).value(), expected);
  expect_near(plain(x).value(), without);
  EXPECT_EQ(output(pick(x, 0, 1)).dim(), Dim({5}));
  EXPECT_THROW(output(ones(graph, {4})), ShapeError);
}

/// A word predicts the next one, with one table for both.
Expression tied_loss(ComputationGraph& graph, const Embedding& embedding, const TiedLinear& output,
                     const Rows& words) {
  std::vector<Expression> losses;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    losses.push_back(cross_entropy(output(tanh(embedding(graph, words[i]))), words[i + 1]));
  }
  return sum(losses);
}

TEST(TiedLinearTest, TheTableIsTransposedOncePerMinibatch) {
  ParameterCollection model;
  const Embedding embedding(model, 6, 4);
  const TiedLinear output(model, embedding);
  Minibatch minibatch;
  for (unsigned sample = 0; sample < 5; ++sample) {
    minibatch.add_loss(tied_loss(minibatch.new_graph(), embedding, output, {0, sample, 3}));
  }
  minibatch.forward();
  std::size_t nodes = 0;
  for (const Report::Type& type : minibatch.explain().types) {
    if (type.op == "transpose") nodes += type.nodes;
  }
  EXPECT_EQ(nodes, 1u);
}

}  // namespace
}  // namespace dynet_like::nn

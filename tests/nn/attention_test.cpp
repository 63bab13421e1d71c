// Attention: formulas against plain doubles, gradients, batching, causal masks, errors.
#include "nn/attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/multi_head_attention.h"
#include "tests/support/layers.h"

namespace dynet_like::nn {
namespace {

/// A matrix in plain doubles, column by column.
struct Plain {
  std::size_t rows, columns;
  Doubles values;

  double& at(std::size_t i, std::size_t j) { return values[j * rows + i]; }
  double at(std::size_t i, std::size_t j) const { return values[j * rows + i]; }
};

Plain zeros_of(std::size_t rows, std::size_t columns) {
  return {rows, columns, Doubles(rows * columns)};
}

Plain plain(const Expression& e) { return {e.dim().rows(), e.dim().cols(), as_doubles(e.value())}; }

Plain plain(const ParameterCollection& model, const std::string& name) {
  const Dim dim = model.find(name)->dim;
  return {dim.rows(), dim.cols(), numbers(model, name)};
}

Plain operator*(const Plain& a, const Plain& b) {
  Plain c = zeros_of(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i) {
    for (std::size_t j = 0; j < b.columns; ++j) {
      for (std::size_t k = 0; k < a.columns; ++k) c.at(i, j) += a.at(i, k) * b.at(k, j);
    }
  }
  return c;
}

/// W x + b for every column.
Plain map(const ParameterCollection& model, const std::string& linear, const Plain& x) {
  Plain y = plain(model, linear + "/W") * x;
  const Doubles b = numbers(model, linear + "/b");
  for (std::size_t j = 0; j < y.columns; ++j) {
    for (std::size_t i = 0; i < y.rows; ++i) y.at(i, j) += b[i];
  }
  return y;
}

Doubles plain_softmax(const Doubles& scores) {
  double total = 0;
  for (const double score : scores) total += std::exp(score);
  Doubles weights;
  for (const double score : scores) weights.push_back(std::exp(score) / total);
  return weights;
}

/// The formula of the header, number by number.
Plain plain_attention(const Plain& q, const Plain& k, const Plain& v, std::size_t heads,
                      bool causal) {
  Plain y = zeros_of(v.rows, q.columns);
  const std::size_t of_key = q.rows / heads, of_value = v.rows / heads;
  for (std::size_t head = 0; head < heads; ++head) {
    for (std::size_t query = 0; query < q.columns; ++query) {
      Doubles scores(causal ? std::min(query + 1, k.columns) : k.columns);
      for (std::size_t key = 0; key < scores.size(); ++key) {
        for (std::size_t i = head * of_key; i < (head + 1) * of_key; ++i) {
          scores[key] += k.at(i, key) * q.at(i, query) / std::sqrt(static_cast<double>(of_key));
        }
      }
      const Doubles weights = plain_softmax(scores);
      for (std::size_t key = 0; key < scores.size(); ++key) {
        for (std::size_t i = head * of_value; i < (head + 1) * of_value; ++i) {
          y.at(i, query) += weights[key] * v.at(i, key);
        }
      }
    }
  }
  return y;
}

// The factor 1 / sqrt(d / heads) is a float.
void expect_close(const Expression& got, const Doubles& expected) {
  ASSERT_EQ(got.dim().size(), expected.size());
  const Tensor values = got.value();
  for (unsigned i = 0; i < expected.size(); ++i) EXPECT_NEAR(values.at(i), expected[i], 1e-6) << i;
}

// --------------------------------------------------------------------------- kinds of scores

constexpr unsigned kStates = 4, kQueries = 3;

/// Weights and mean of some states, from scores that are known.
template <class Attention>
void expect_mean(const Attention& attention, const AttentionMemory& memory, const Expression& query,
                 const Plain& states, const Doubles& scores) {
  const Doubles weights = plain_softmax(scores);
  expect_close(attention.weights(memory, query), weights);
  Doubles mean(states.rows);
  for (std::size_t j = 0; j < states.columns; ++j) {
    for (std::size_t i = 0; i < states.rows; ++i) mean[i] += weights[j] * states.at(i, j);
  }
  expect_close(attention(memory, query), mean);
  const Attended both = attention.attend(memory, query);
  expect_close(both.mean, mean);
  expect_close(both.weights, weights);
}

TEST(AttentionTest, DotProducts) {
  ComputationGraph graph(double_options());
  const Expression states = drawn_matrix(graph, kStates, 5, 1);
  const Expression query = reshape(drawn_matrix(graph, kStates, 1, 2), {kStates});
  const DotAttention attention;
  Doubles scores;
  for (std::size_t j = 0; j < 5; ++j) {
    scores.push_back(0);
    for (unsigned i = 0; i < kStates; ++i) {
      scores.back() += plain(states).at(i, j) * plain(query).at(i, 0);
    }
  }
  expect_mean(attention, attention.read(states), query, plain(states), scores);
}

TEST(AttentionTest, BilinearScores) {
  ParameterCollection model(1, DType::f64);
  const BilinearAttention attention(model, kStates, kQueries);
  ComputationGraph graph(double_options());
  const Expression states = drawn_matrix(graph, kStates, 5, 1);
  const Expression query = reshape(drawn_matrix(graph, kQueries, 1, 2), {kQueries});
  const Plain keys = plain(model, "/bilinear_attention/W") * plain(states);
  Doubles scores(5);
  for (std::size_t j = 0; j < 5; ++j) {
    for (unsigned i = 0; i < kQueries; ++i) scores[j] += plain(query).at(i, 0) * keys.at(i, j);
  }
  expect_mean(attention, attention.read(states), query, plain(states), scores);
}

TEST(AttentionTest, AdditiveScores) {
  ParameterCollection model(1, DType::f64);
  const AdditiveAttention attention(model, kStates, kQueries, {.hidden = 6});
  randomise(model, 3);
  ComputationGraph graph(double_options());
  const Expression states = drawn_matrix(graph, kStates, 5, 1);
  const Expression query = reshape(drawn_matrix(graph, kQueries, 1, 2), {kQueries});
  const Plain from_states = map(model, "/additive_attention", plain(states));
  const Plain from_query = plain(model, "/additive_attention/U") * plain(query);
  const Doubles v = numbers(model, "/additive_attention/v");
  Doubles scores(5);
  for (std::size_t j = 0; j < 5; ++j) {
    for (unsigned i = 0; i < 6; ++i) {
      scores[j] += v[i] * std::tanh(from_states.at(i, j) + from_query.at(i, 0));
    }
  }
  expect_mean(attention, attention.read(states), query, plain(states), scores);
}

TEST(AttentionTest, VectorsAreTheColumnsOfAMatrix) {
  ParameterCollection model;
  const DotAttention dot;
  const BilinearAttention bilinear(model, kStates, kStates);
  const AdditiveAttention additive(model, kStates, kStates, {.hidden = 6});
  const MultiHeadAttention heads(model, kStates, {.heads = 2});
  ComputationGraph graph;
  const Expression states = drawn_matrix(graph, kStates, 3, 1);
  const Expression query = reshape(drawn_matrix(graph, kStates, 1, 2), {kStates});
  const std::vector<Expression> list = {pick(states, 0, 1), pick(states, 1, 1), pick(states, 2, 1)};
  const auto check = [&](const auto& attention) {
    EXPECT_EQ(as_vector(attention(attention.read(list), query).value()),
              as_vector(attention(attention.read(states), query).value()));
    EXPECT_THROW(attention.read(std::vector<Expression>()), UsageError);
    EXPECT_THROW(attention(attention.read(states), ones(graph, {kStates + 1})).value(), ShapeError);
  };
  check(dot);
  check(bilinear);
  check(additive);
  check(heads);
  EXPECT_THROW(bilinear.read(ones(graph, {kStates + 1, 2})), ShapeError);
  EXPECT_THROW(additive(additive.read(states), states), ShapeError);
  EXPECT_THROW(additive.attend(additive.read(states), states), ShapeError);
  EXPECT_THROW(dot.attend(dot.read(states), ones(graph, {kStates + 1})), ShapeError);
  EXPECT_THROW(BilinearAttention(model, 0, 3), ShapeError);
  EXPECT_THROW(AdditiveAttention(model, 3, 3, {.hidden = 0}), UsageError);
}

TEST(AttentionTest, KeysAreMadeOnceForAllQueries) {
  ParameterCollection model;
  const BilinearAttention attention(model, kStates, kQueries);
  ComputationGraph graph;
  const AttentionMemory memory = attention.read(drawn_matrix(graph, kStates, 5, 1));
  const std::size_t before = graph.size();
  attention(memory, ones(graph, {kQueries}));
  const std::size_t first = graph.size() - before;
  attention(memory, zeros(graph, {kQueries}));
  EXPECT_EQ(graph.size(), before + 2 * first);
  // Several queries at once are those one by one.
  const Expression queries = drawn_matrix(graph, kQueries, 2, 3);
  const std::vector<float> both = as_vector(attention(memory, queries).value());
  for (unsigned j = 0; j < 2; ++j) {
    const std::vector<float> one = as_vector(attention(memory, pick(queries, j, 1)).value());
    for (unsigned i = 0; i < kStates; ++i) EXPECT_NEAR(both[j * kStates + i], one[i], 1e-6);
  }
  const Expression weights = attention.weights(memory, queries);
  EXPECT_EQ(weights.dim(), Dim({5, 2}));
  for (unsigned j = 0; j < 2; ++j) {
    EXPECT_EQ(as_vector(pick(weights, j, 1).value()),
              as_vector(attention.weights(memory, pick(queries, j, 1)).value()));
  }
}

// ------------------------------------------------------------------------------- multi-head

TEST(MultiHeadAttentionTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const MultiHeadAttention attention(model, 6, {.heads = 3});
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const Expression x = drawn_matrix(graph, 6, 4, 1), queries = drawn_matrix(graph, 6, 2, 2);
  const auto expected = [&](const Expression& from, bool causal) {
    const Plain q = map(model, "/attention/query", plain(from));
    const Plain k = map(model, "/attention/key", plain(x));
    const Plain v = map(model, "/attention/value", plain(x));
    return map(model, "/attention/output", plain_attention(q, k, v, 3, causal)).values;
  };
  expect_close(attention(x), expected(x, false));
  expect_close(attention(attention.read(x), queries), expected(queries, false));
  ParameterCollection same(1, DType::f64);
  const MultiHeadAttention causal(same, 6, {.heads = 3, .causal = true});
  randomise(same, 2);
  expect_close(causal(x), expected(x, true));
}

TEST(MultiHeadAttentionTest, HasWeights) {
  ParameterCollection model(1, DType::f64);
  const MultiHeadAttention attention(model, 6, {.heads = 3});
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const Expression x = drawn_matrix(graph, 6, 4, 1), queries = drawn_matrix(graph, 6, 2, 2);
  const Plain q = map(model, "/attention/query", plain(queries));
  const Plain k = map(model, "/attention/key", plain(x));
  const Expression weights = attention.weights(attention.read(x), queries);
  ASSERT_EQ(weights.dim(), Dim({3, 4, 2}));
  Doubles expected(24);
  for (unsigned head = 0; head < 3; ++head) {
    for (unsigned query = 0; query < 2; ++query) {
      Doubles scores;
      for (unsigned key = 0; key < 4; ++key) {
        double score = 0;
        for (unsigned c = 2 * head; c < 2 * head + 2; ++c) score += q.at(c, query) * k.at(c, key);
        scores.push_back(score / std::sqrt(2.0));
      }
      const Doubles of_query = plain_softmax(scores);
      for (unsigned key = 0; key < 4; ++key) expected[(query * 4 + key) * 3 + head] = of_query[key];
    }
  }
  expect_close(weights, expected);
}

TEST(MultiHeadAttentionTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_THROW(MultiHeadAttention(model, 6, {.heads = 4}), ShapeError);
  EXPECT_THROW(MultiHeadAttention(model, 6, {.heads = 0}), UsageError);
  EXPECT_THROW(MultiHeadAttention(model, 0, {.heads = 1}), ShapeError);
  EXPECT_EQ(model.size(), 0u);
  const MultiHeadAttention attention(model, 6, {.heads = 2});
  ComputationGraph graph;
  EXPECT_THROW(attention(ones(graph, {5, 2})), ShapeError);
  EXPECT_THROW(attention.read(ones(graph, {5, 2})), ShapeError);
}

// --------------------------------------------------------------------------------- all kinds

}  // namespace
}  // namespace dynet_like::nn

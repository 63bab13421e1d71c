// Attention: each kind is the composition of its operations, which tests/ops compares with plain
// loops; several queries, vectors for matrices, sizes that do not fit.
#include "tests/support/layers.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr unsigned kStates = 4, kQueries = 3;

// The factor 1 / sqrt(d / heads) is a float.
void expect_close(const Expression& got, const Expression& expected) {
  ASSERT_EQ(got.dim(), expected.dim());
  const Doubles values = as_doubles(got.value()), wanted = as_doubles(expected.value());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], 1e-6) << i;
}

struct AttentionTest : ::testing::Test {
  Expression parameter_named(const std::string& name) {
    return parameter(graph, Parameter(model.find(name)));
  }
  Expression vector(unsigned size, unsigned seed) {
    return reshape(drawn_matrix(graph, size, 1, seed), {size});
  }
  /// Weights and mean of the states, from scores that are known.
  template <class Attention>
  void expect_mean(const Attention& attention, const Expression& query, const Expression& scores) {
    const AttentionMemory memory = attention.read(states);
    const Expression weights = softmax(scores), mean = states * weights;
    expect_close(attention.weights(memory, query), weights);
    expect_close(attention(memory, query), mean);
    const Attended both = attention.attend(memory, query);
    expect_close(both.mean, mean);
    expect_close(both.weights, weights);
  }

  ParameterCollection model{1, DType::f64};
  ComputationGraph graph{double_options()};
  const Expression states = drawn_matrix(graph, kStates, 5, 1);
};

TEST_F(AttentionTest, ScoresAreThoseOfTheFormulas) {
  const DotAttention dot;
  const BilinearAttention bilinear(model, kStates, kQueries);
  const AdditiveAttention additive(model, kStates, kQueries, {.hidden = 6});
  randomise(model, 3);
  const Expression own = vector(kStates, 2), query = vector(kQueries, 2);
  expect_mean(dot, own, transpose(states) * own);
  expect_mean(bilinear, query,
              transpose(parameter_named("/bilinear_attention/W") * states) * query);
  const Expression from_query =
      parameter_named("/additive_attention/b") + parameter_named("/additive_attention/U") * query;
  const Expression hidden =
      tanh(colwise_add(parameter_named("/additive_attention/W") * states, from_query));
  expect_mean(additive, query, reshape(parameter_named("/additive_attention/v") * hidden, {5}));
}

TEST_F(AttentionTest, HeadsFollowTheFormula) {
  const MultiHeadAttention attention(model, 6, {.heads = 3});
  randomise(model, 2);
  const Expression x = drawn_matrix(graph, 6, 4, 1), queries = drawn_matrix(graph, 6, 2, 2);
  const auto map = [&](const std::string& part, const Expression& of) {
    const std::string name = "/attention/" + part;
    return affine_transform({parameter_named(name + "/b"), parameter_named(name + "/W"), of});
  };
  const auto expected = [&](const Expression& from, bool causal) {
    return map("output", dynet_like::attention(map("query", from), map("key", x), map("value", x),
                                               {.heads = 3, .causal = causal}));
  };
  const AttentionMemory memory = attention.read(x);
  expect_close(attention(x), expected(x, false));
  expect_close(attention(memory, queries), expected(queries, false));
  expect_close(attention.weights(memory, queries),
               attention_weights(map("query", queries), map("key", x), 3));
  ParameterCollection same(1, DType::f64);
  const MultiHeadAttention causal(same, 6, {.heads = 3, .causal = true});
  randomise(same, 2);
  expect_close(causal(x), expected(x, true));
}

TEST(AttentionCallsTest, VectorsAreTheColumnsOfAMatrix) {
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

TEST(AttentionCallsTest, KeysAreMadeOnceForAllQueries) {
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

TEST(AttentionCallsTest, SizesThatDoNotFit) {
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

}  // namespace
}  // namespace dynet_like::nn

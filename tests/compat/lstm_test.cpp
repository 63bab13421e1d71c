// <dynet/lstm.h> and its relatives: dropout, sparse weights and noise; <dynet/c2w.h>: words from
// characters.
#include <dynet/c2w.h>
#include <dynet/fast-lstm.h>
#include <dynet/gru.h>
#include <dynet/lstm.h>

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "tests/compat/sequence_builders.h"
#include "tests/support/precompiled.h"

namespace dynet {
namespace {

using dynet_like::UsageError;

static_assert(std::is_same_v<LSTMBuilder, VanillaLSTMBuilder>);

template <class Builder>
void start(Builder& lstm, ComputationGraph& graph) {
  lstm.new_graph(graph);
  lstm.start_new_sequence();
}

TEST(CompatCoupledLstmTest, RatesAreOfInputsOutputsAndCells) {
  ParameterCollection model;
  CoupledLSTMBuilder lstm(1, 3, 4, model);
  ComputationGraph graph;
  lstm.set_dropout(0.5f);
  EXPECT_EQ(lstm.dropout_rate_h, 0.5f);
  EXPECT_EQ(lstm.dropout_rate_c, 0.5f);
  lstm.set_dropout(0, 0, 0.5f);  // masks of cells alone
  start(lstm, graph);
  const Expression x = some_input(graph, 0, 3);
  lstm.add_input(x);
  EXPECT_NO_THROW(values_of(lstm.add_input(x)));
  EXPECT_THROW(lstm.set_dropout(0, 0, 1), UsageError);
}

TEST(CompatVanillaLstmTest, BiasesBeginWithZeros) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 3, 4, model, true);
  EXPECT_EQ(numbers(lstm.params[0][2]), Doubles(16));
  EXPECT_EQ(numbers(lstm.ln_params[0][0]), Doubles(16, 1));
  EXPECT_EQ(numbers(lstm.ln_params[0][1]), Doubles(16));
  EXPECT_EQ(numbers(lstm.ln_params[0][4]), Doubles(4, 1));
  EXPECT_EQ(lstm.forget_bias, 1);
  VanillaLSTMBuilder plain(1, 3, 4, model);
  EXPECT_THROW(plain.copy(lstm), UsageError);
  ComputationGraph graph;
  start(lstm, graph);
  EXPECT_EQ(values_of(lstm.ln_param_vars[0][3]), as_vector(*lstm.ln_params[0][3].values()));
  EXPECT_FALSE(lstm.has_initial_state);
  lstm.start_new_sequence({some_input(graph, 8, 4), some_input(graph, 9, 4)});
  EXPECT_TRUE(lstm.has_initial_state);
  expect_near(lstm.c0[0], some_vector(8, 4));
  expect_near(lstm.h0[0], some_vector(9, 4));
}

TEST(CompatVanillaLstmTest, AStepIsOneNode) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(2, 3, 4, model);
  ComputationGraph graph;
  start(lstm, graph);
  lstm.add_input(some_input(graph, 0, 3));
  const Expression x = some_input(graph, 1, 3);
  const std::size_t nodes = graph.size();
  lstm.add_input(x);
  EXPECT_EQ(graph.size(), nodes + 2);
}

TEST(CompatVanillaLstmTest, RatesAreOfInputsAndOutputs) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 3, 4, model);
  ComputationGraph graph;
  lstm.set_dropout(0.3f, 0.6f);
  EXPECT_EQ(lstm.dropout_rate_h, 0.6f);
  start(lstm, graph);
  EXPECT_FALSE(lstm.dropout_masks_valid);
  lstm.set_dropout_masks();
  EXPECT_TRUE(lstm.dropout_masks_valid);
  lstm.disable_dropout();
  EXPECT_EQ(lstm.dropout_rate_h, 0);
  EXPECT_THROW(lstm.set_dropout(0, 1), UsageError);
}

struct CompatSparseLstmTest : testing::Test {
  CompatSparseLstmTest() : lstm(2, 3, 4, model) {
    randomise(model, 1);
    lstm.set_sparsity(0);
  }

  ParameterCollection model;
  SparseLSTMBuilder lstm;
};

TEST_F(CompatSparseLstmTest, TheSmallestWeightsCountAsZeros) {
  TensorTools::scale(*lstm.params[1][1].values(), 0, 3);  // few of its weights are small
  const Doubles before = numbers(lstm.params[0][0]);
  lstm.set_sparsity(0.5f);
  EXPECT_EQ(numbers(lstm.params[0][0]), before);
  std::vector<float> sizes;
  for (unsigned layer = 0; layer < 2; ++layer) {
    for (unsigned i = 0; i < 2; ++i) {
      for (const float e : as_vector(*lstm.params[layer][i].values())) {
        sizes.push_back(std::abs(e));
      }
    }
  }
  std::sort(sizes.begin(), sizes.end());
  ParameterCollection plain_model;
  VanillaLSTMBuilder plain(2, 3, 4, plain_model);
  for (unsigned layer = 0; layer < 2; ++layer) {
    for (unsigned i = 0; i < 3; ++i) {
      std::vector<float> w = as_vector(*lstm.params[layer][i].values());
      for (float& e : w) e = i < 2 && std::abs(e) < sizes[sizes.size() / 2] ? 0 : e;
      plain.params[layer][i].set_value(w);
    }
  }
  ComputationGraph graph;
  start(lstm, graph);
  start(plain, graph);
  for (unsigned t = 0; t < 4; ++t) {
    const Expression x = some_input(graph, t, 3);
    expect_near(lstm.add_input(x), as_doubles(plain.add_input(x).value()));
  }
}

// Of 48 + 64 + 64 + 64 weights.
TEST_F(CompatSparseLstmTest, TheShareIsOfAllWeightsTogether) {
  const auto zeros = [&] {
    std::ptrdiff_t count = 0;
    for (const auto& layer : lstm.params) {
      for (const unsigned i : {3u, 4u}) {
        const std::vector<float> mask = as_vector(*layer[i].values());
        count += std::count(mask.begin(), mask.end(), 0.0f);
      }
    }
    return count;
  };
  EXPECT_EQ(zeros(), 0);
  for (const auto& [share, count] : {std::pair(0.1f, 24), {0.9f, 216}, {0.333f, 79}, {1.0f, 240}}) {
    lstm.set_sparsity(share);
    EXPECT_EQ(zeros(), count) << share;
  }
  EXPECT_THROW(lstm.set_sparsity(-1), UsageError);
  EXPECT_THROW(lstm.set_sparsity(1.01f), UsageError);
}

TEST_F(CompatSparseLstmTest, WeightsThatCountAsZerosStay) {
  lstm.set_sparsity(0.75f);
  const std::vector<float> mask = as_vector(*lstm.params[0][3].values());
  ComputationGraph graph;
  start(lstm, graph);
  lstm.add_input(some_input(graph, 0, 3));
  graph.backward(squared_norm(lstm.add_input(some_input(graph, 1, 3))));
  const std::vector<float> gradient = as_vector(*lstm.params[0][0].gradients());
  for (std::size_t i = 0; i < mask.size(); ++i) EXPECT_EQ(gradient[i] == 0, mask[i] == 0) << i;
  EXPECT_FALSE(lstm.params[0][3].is_updated());
  EXPECT_FALSE(lstm.params[0][3].p->has_grad());
  model.reset_gradient();
}

TEST(CompatCompactLstmTest, WeightsHaveNoiseIfThatIsAskedFor) {
  ParameterCollection model;
  CompactVanillaLSTMBuilder lstm(1, 3, 4, model);
  randomise(model, 1);
  ComputationGraph graph;
  lstm.new_graph(graph);
  const auto output = [&] {
    lstm.start_new_sequence();
    return as_doubles(lstm.add_input(some_input(graph, 0, 3)).value());
  };
  const Doubles exact = output();
  EXPECT_EQ(output(), exact);
  lstm.set_weightnoise(0.001f);
  EXPECT_EQ(lstm.weightnoise_std, 0.001f);
  const Doubles noisy = output();
  EXPECT_NE(noisy, exact);
  EXPECT_NE(output(), noisy);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(noisy[i], exact[i], 0.02);
  lstm.set_weightnoise(0);
  EXPECT_EQ(output(), exact);
  EXPECT_THROW(lstm.set_weightnoise(-1), UsageError);
}

// Dropout is of what goes into layers and comes out, not of the state.
TEST(CompatGruTest, DropoutIsOfInputsAndOutputs) {
  ParameterCollection model;
  GRUBuilder gru(1, 3, 200, model);
  randomise(model, 1);
  ComputationGraph graph;
  gru.new_graph(graph);
  gru.set_dropout(0.5f);
  gru.start_new_sequence();
  const std::vector<float> y = values_of(gru.add_input(some_input(graph, 0, 3)));
  const std::vector<float> h = values_of(gru.back());
  unsigned zeros = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_TRUE(y[i] == 0 || y[i] == 2 * h[i]) << y[i] << ' ' << h[i];
    EXPECT_NE(h[i], 0);
    zeros += y[i] == 0 ? 1 : 0;
  }
  EXPECT_NEAR(zeros, 100, 40);
}

TEST(CompatFastLstmTest, DropoutIsOfInputs) {
  ParameterCollection model;
  FastLSTMBuilder lstm(1, 1, 4, model);
  randomise(model, 1);
  lstm.set_dropout(0.5f);
  ComputationGraph graph;
  lstm.new_graph(graph);
  const auto after = [&](float x) {
    lstm.start_new_sequence();
    return values_of(lstm.add_input(input(graph, x)));
  };
  bool dropped = false, kept = false;
  lstm.disable_dropout();
  const auto zero = after(0), twice = after(2);
  lstm.set_dropout(0.5f);
  for (int i = 0; i < 40; ++i) {
    const auto y = after(1);
    dropped |= y == zero;
    kept |= y == twice;
    EXPECT_TRUE(y == zero || y == twice);
  }
  EXPECT_TRUE(dropped && kept);
}

struct CompatC2wTest : testing::Test {
  CompatC2wTest() : words(5, 2, 3, 4, model) { randomise(model, 1); }

  ParameterCollection model;
  C2WBuilder words;
  ComputationGraph graph;
};

TEST_F(CompatC2wTest, WordsAreReadInBothDirections) {
  words.new_graph(&graph);
  const std::vector<int> characters = {1, 4, 0};
  const Expression word(&graph, words.add_word(7, characters, &graph));
  EXPECT_EQ(word.dim(), Dim({8}));
  const auto read = [&](LSTMBuilder& lstm, const std::vector<unsigned>& order) {
    lstm.start_new_sequence();
    for (const unsigned c : order) lstm.add_input(lookup(graph, words.p_lookup, c));
    return lstm.back();
  };
  EXPECT_EQ(values_of(word),
            values_of(concatenate({read(words.fc2w, {1, 4, 0}), read(words.rc2w, {0, 4, 1})})));
  graph.backward(squared_norm(word));
  expect_gradients_everywhere(model);
  model.reset_gradient();
}

TEST_F(CompatC2wTest, AWordIsReadOnce) {
  words.new_graph(&graph);
  const VariableIndex first = words.add_word(7, {1, 2}, &graph);
  const std::size_t nodes = graph.size();
  EXPECT_EQ(words.add_word(7, {1, 2}, &graph), first);
  EXPECT_EQ(graph.size(), nodes);
  EXPECT_NE(words.add_word(8, {1, 2}, &graph), first);
  ComputationGraph other;
  words.new_graph(&other);
  const Expression again(&other, words.add_word(7, {2, 1}, &other));
  EXPECT_NE(values_of(again), as_vector(graph.get_value(first)));
}

TEST_F(CompatC2wTest, WhatIsNoWordThrows) {
  words.new_graph(&graph);
  EXPECT_THROW(words.add_word(1, {}, &graph), UsageError);
  EXPECT_THROW(words.add_word(1, {-1}, &graph), UsageError);
  EXPECT_THROW(words.add_word(1, {5}, &graph), UsageError);
  EXPECT_THROW(C2WBuilder(0, 1, 2, 3, model), UsageError);
}

TEST_F(CompatC2wTest, BatchesHaveTheBitsOfOneByOne) {
  expect_bits_of_one_by_one(model, 10, [&](ComputationGraph& in, unsigned sample) {
    words.new_graph(&in);
    std::vector<int> characters;
    for (unsigned i = 0; i <= sample % 4; ++i)
      characters.push_back(static_cast<int>((sample + i) % 5));
    return Expression(&in, words.add_word(0, characters, &in));
  });
}

TEST_F(CompatC2wTest, ParametersAreOfTheirOwnCollection) {
  EXPECT_EQ(words.get_parameter_collection().get_fullname(), "/c2w-builder/");
  EXPECT_EQ(words.get_parameter_collection().size(), 13u);
  EXPECT_EQ(model.size(), 13u);
}

}  // namespace
}  // namespace dynet

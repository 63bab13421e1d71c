// <dynet/lstm.h> and its relatives: dropout, sparse weights and noise.
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

/// Reads four vectors; cell(layer, x, state before, step) is the formula.
template <class Builder, class Cell>
void expect_formula(Builder& lstm, ComputationGraph& graph, const Cell& cell) {
  std::vector<PlainState> states(lstm.layers, {Doubles(lstm.hid), Doubles(lstm.hid)});
  for (unsigned t = 0; t < 4; ++t) {
    Doubles x = some_vector(t, lstm.input_dim);
    const Expression y = lstm.add_input(as_input(graph, x));
    for (unsigned layer = 0; layer < lstm.layers; ++layer) {
      states[layer] = cell(layer, x, states[layer], t);
      x = states[layer].h;
      expect_near(lstm.h[t][layer], x);
      expect_near(lstm.c[t][layer], states[layer].c);
    }
    expect_near(y, x);
  }
}

template <class Builder>
void start(Builder& lstm, ComputationGraph& graph) {
  lstm.new_graph(graph);
  lstm.start_new_sequence();
}

// Gates see inputs, outputs and cells through masks; the cell itself has none.
TEST(CompatCoupledLstmTest, MasksAreBeforeTheGates) {
  ParameterCollection model;
  CoupledLSTMBuilder lstm(1, 3, 4, model);
  randomise(model, 1);
  ComputationGraph graph;
  lstm.set_dropout(0.3f, 0.4f, 0.5f);
  start(lstm, graph);
  const Doubles x = some_vector(0, 3), second = some_vector(1, 3);
  lstm.add_input(as_input(graph, x));
  ASSERT_EQ(lstm.masks[0].size(), 3u);
  const Doubles h = as_doubles(lstm.h[0][0].value()), c = as_doubles(lstm.c[0][0].value());
  const auto mask = [&](unsigned i) { return as_doubles(lstm.masks[0][i].value()); };
  const std::vector<Parameter>& p = lstm.params[0];
  const Doubles seen = second * mask(0), output = h * mask(1);
  const Doubles i =
      plain_logistic(plain_affine(p[3], {{p[0], seen}, {p[1], output}, {p[2], c * mask(2)}}));
  const Doubles candidate = plain_tanh(plain_affine(p[10], {{p[8], seen}, {p[9], output}}));
  const Doubles c_new = one_minus(i) * c + i * candidate;
  const Doubles o =
      plain_logistic(plain_affine(p[7], {{p[4], seen}, {p[5], output}, {p[6], c_new * mask(2)}}));
  expect_near(lstm.add_input(as_input(graph, second)), o * plain_tanh(c_new));
  lstm.set_dropout_masks(3);
  EXPECT_EQ(lstm.masks[0][2].dim(), Dim({4}, 3));
  lstm.set_dropout(0.5f);
  EXPECT_EQ(lstm.dropout_rate_h, 0.5f);
  EXPECT_EQ(lstm.dropout_rate_c, 0.5f);
  lstm.set_dropout(0, 0, 0.5f);  // masks of cells alone
  lstm.start_new_sequence();
  lstm.add_input(as_input(graph, x));
  EXPECT_NO_THROW(values_of(lstm.add_input(as_input(graph, x))));
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

template <class Builder>
void expect_masked_formula() {
  ParameterCollection model;
  Builder lstm(2, 3, 4, model);
  randomise(model, 1);
  ComputationGraph graph;
  lstm.set_dropout(0.3f, 0.6f);
  EXPECT_EQ(lstm.dropout_rate_h, 0.6f);
  start(lstm, graph);
  EXPECT_FALSE(lstm.dropout_masks_valid);
  lstm.set_dropout_masks();
  EXPECT_TRUE(lstm.dropout_masks_valid);
  const auto mask = [&](unsigned layer, unsigned i) {
    return as_doubles(lstm.masks[layer][i].value());
  };
  expect_formula(lstm, graph,
                 [&](unsigned layer, const Doubles& x, const PlainState& before, unsigned) {
                   return plain_vanilla_cell(lstm.params[layer], x * mask(layer, 0),
                                             {before.h * mask(layer, 1), before.c}, 1);
                 });
  EXPECT_EQ(lstm.masks[0][0].dim(), Dim({3}));
  EXPECT_EQ(lstm.masks[1][0].dim(), Dim({4}));
  const Expression x = some_input(graph, 0, 3);
  lstm.start_new_sequence();
  lstm.add_input(concatenate_to_batch({x, x, x}));
  EXPECT_EQ(lstm.masks[0][1].dim(), Dim({4}, 3));
  lstm.disable_dropout();
  EXPECT_EQ(lstm.dropout_rate_h, 0);
  EXPECT_THROW(lstm.set_dropout(0, 1), UsageError);
}

TEST(CompatVanillaLstmTest, MasksStayForASequence) { expect_masked_formula<VanillaLSTMBuilder>(); }
TEST(CompatCompactLstmTest, MasksStayForASequence) {
  expect_masked_formula<CompactVanillaLSTMBuilder>();
}

TEST(CompatVanillaLstmTest, MasksAreOfZerosAndOneScale) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 100, 300, model);
  ComputationGraph graph;
  lstm.set_dropout(0.2f);
  start(lstm, graph);
  lstm.set_dropout_masks(2);
  const std::vector<float> mask = values_of(lstm.masks[0][1]);
  ASSERT_EQ(mask.size(), 600u);
  const auto zeros = std::count(mask.begin(), mask.end(), 0.0f);
  const auto kept = std::count(mask.begin(), mask.end(), 1 / (1 - 0.2f));
  EXPECT_EQ(zeros + kept, 600);
  EXPECT_NEAR(static_cast<double>(zeros), 120, 50);
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
  // The formula, with weights that are zeros.
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
  expect_formula(lstm, graph,
                 [&](unsigned layer, const Doubles& x, const PlainState& old, unsigned) {
                   return plain_vanilla_cell(plain.params[layer], x, old, 1);
                 });
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

}  // namespace
}  // namespace dynet

// <dynet/lstm.h>: the formulas, dropout, sparse weights and noise.
#include <dynet/lstm.h>

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "tests/compat/coupled_cells.h"

namespace dynet {
namespace {

using dynet_like::UsageError;

static_assert(std::is_same_v<LSTMBuilder, VanillaLSTMBuilder>);

/// The gains and biases of a normalisation, and what it makes of x.
Doubles plain_layer_norm(const Doubles& x, const Parameter& gain, const Parameter& bias) {
  double mean = 0, variance = 0;
  for (const double e : x) mean += e / static_cast<double>(x.size());
  for (const double e : x) variance += (e - mean) * (e - mean) / static_cast<double>(x.size());
  const Doubles normal = each([&](double e) { return (e - mean) / std::sqrt(variance); }, x);
  return numbers(gain) * normal + numbers(bias);
}

Doubles plain_product(const Parameter& w, const Doubles& x) {
  Doubles y(w.dim().rows());
  dynet_like::nn::add_product(y, numbers(w), x);
  return y;
}

/// The gates from the sums, and the new cell.
struct PlainGates {
  PlainGates(const Doubles& sums, const Doubles& c_before, double forget_bias) {
    const std::size_t n = c_before.size();
    const Doubles f = plain_logistic(forget_bias + rows(sums, n, 2 * n));
    o = plain_logistic(rows(sums, 2 * n, 3 * n));
    c = f * c_before + plain_logistic(rows(sums, 0, n)) * plain_tanh(rows(sums, 3 * n, 4 * n));
  }
  Doubles o, c;
};

PlainState plain_vanilla_cell(const std::vector<Parameter>& p, const Doubles& x,
                              const PlainState& before, double forget_bias) {
  const PlainGates gates(plain_affine(p[2], {{p[0], x}, {p[1], before.h}}), before.c, forget_bias);
  return {gates.o * plain_tanh(gates.c), gates.c};
}

PlainState plain_normalised_cell(const VanillaLSTMBuilder& lstm, unsigned layer, const Doubles& x,
                                 const PlainState& before, bool first) {
  const std::vector<Parameter>&p = lstm.params[layer], &ln = lstm.ln_params[layer];
  Doubles sums = numbers(p[2]) + plain_layer_norm(plain_product(p[0], x), ln[2], ln[3]);
  if (!first) sums = sums + plain_layer_norm(plain_product(p[1], before.h), ln[0], ln[1]);
  const PlainGates gates(sums, before.c, static_cast<double>(lstm.forget_bias));
  return {gates.o * plain_tanh(plain_layer_norm(gates.c, ln[4], ln[5])), gates.c};
}

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

TEST(CompatCoupledLstmTest, FollowsTheFormula) {
  ParameterCollection model;
  CoupledLSTMBuilder lstm(2, 3, 4, model);
  randomise(model, 1);
  EXPECT_EQ(layout_of(model), coupled_layout("lstm-builder", 0, 3, 4, 4) +
                                  coupled_layout("lstm-builder", 11, 4, 4, 4));
  ComputationGraph graph;
  start(lstm, graph);
  expect_formula(lstm, graph,
                 [&](unsigned layer, const Doubles& x, const PlainState& before, unsigned) {
                   return plain_coupled_cell(lstm.params[layer], x, before);
                 });
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

std::string vanilla_layout(const std::string& name) {
  const std::string path = "/" + name + "/_";
  return path + "0 {16,3}\n" + path + "1 {16,4}\n" + path + "2 {16}\n" + path + "3 {16,4}\n" +
         path + "4 {16,4}\n" + path + "5 {16}\n";
}

TEST(CompatVanillaLstmTest, FollowsTheFormula) {
  for (const float forget_bias : {0.0f, 1.0f, -2.5f}) {
    ParameterCollection model;
    VanillaLSTMBuilder lstm(2, 3, 4, model, false, forget_bias);
    randomise(model, 1);
    EXPECT_EQ(layout_of(model), vanilla_layout("vanilla-lstm-builder"));
    ComputationGraph graph;
    start(lstm, graph);
    expect_formula(lstm, graph,
                   [&](unsigned layer, const Doubles& x, const PlainState& before, unsigned) {
                     return plain_vanilla_cell(lstm.params[layer], x, before,
                                               static_cast<double>(forget_bias));
                   });
  }
}

TEST(CompatVanillaLstmTest, BiasesBeginWithZeros) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(1, 3, 4, model, true);
  EXPECT_EQ(numbers(lstm.params[0][2]), Doubles(16));
  EXPECT_EQ(numbers(lstm.ln_params[0][0]), Doubles(16, 1));
  EXPECT_EQ(numbers(lstm.ln_params[0][1]), Doubles(16));
  EXPECT_EQ(numbers(lstm.ln_params[0][4]), Doubles(4, 1));
  EXPECT_EQ(lstm.forget_bias, 1);
  const std::string path = "/vanilla-lstm-builder/_";
  EXPECT_EQ(layout_of(model), path + "0 {16,3}\n" + path + "1 {16,4}\n" + path + "2 {16}\n" + path +
                                  "3 {16}\n" + path + "4 {16}\n" + path + "5 {16}\n" + path +
                                  "6 {16}\n" + path + "7 {4}\n" + path + "8 {4}\n");
}

TEST(CompatVanillaLstmTest, NormalisesItsSums) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(2, 3, 4, model, true, 0.5f);
  randomise(model, 1);
  EXPECT_TRUE(lstm.ln_lstm);
  ComputationGraph graph;
  start(lstm, graph);
  expect_formula(lstm, graph,
                 [&](unsigned layer, const Doubles& x, const PlainState& before, unsigned t) {
                   return plain_normalised_cell(lstm, layer, x, before, t == 0);
                 });
  EXPECT_EQ(values_of(lstm.ln_param_vars[1][3]), as_vector(*lstm.ln_params[1][3].values()));
}

TEST(CompatVanillaLstmTest, NormalisationsAreCopied) {
  ParameterCollection model;
  VanillaLSTMBuilder a(1, 3, 4, model, true), b(1, 3, 4, model, true), c(1, 3, 4, model);
  randomise(model, 1);
  b.copy(a);
  EXPECT_EQ(numbers(b.ln_params[0][5]), numbers(a.ln_params[0][5]));
  EXPECT_THROW(c.copy(a), UsageError);
}

// The fused cell against the operations it stands for: values and gradients.
TEST(CompatVanillaLstmTest, EqualsItsOperationsOneByOne) {
  ParameterCollection model;
  VanillaLSTMBuilder lstm(2, 3, 4, model, false, 0.7f);
  randomise(model, 1);
  ComputationGraph graph;
  start(lstm, graph);
  std::vector<Expression> h(2, zeros(graph, {4})), c = h, fused, composed;
  for (unsigned t = 0; t < 5; ++t) {
    Expression x = some_input(graph, t, 3);
    fused.push_back(squared_norm(lstm.add_input(x)));
    for (unsigned layer = 0; layer < 2; ++layer) {
      const std::vector<Expression>& w = lstm.param_vars[layer];
      const Expression sums = affine_transform({w[2], w[0], x, w[1], h[layer]});
      const auto block = [&](unsigned i) { return pick_range(sums, 4 * i, 4 * i + 4); };
      c[layer] =
          cmult(logistic(block(1) + 0.7f), c[layer]) + cmult(logistic(block(0)), tanh(block(3)));
      x = h[layer] = cmult(logistic(block(2)), tanh(c[layer]));
    }
    composed.push_back(squared_norm(x));
  }
  const Expression by_cells = sum(fused), by_operations = sum(composed);
  EXPECT_NEAR(as_scalar(by_cells.value()), as_scalar(by_operations.value()), 1e-5f);
  model.reset_gradient();
  graph.backward(by_cells);
  const std::vector<float> gradients = take_gradients(model);
  graph.backward(by_operations);
  const std::vector<float> expected = take_gradients(model);
  ASSERT_EQ(gradients.size(), expected.size());
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    EXPECT_NEAR(gradients[i], expected[i], 1e-5f) << i;
  }
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

TEST(CompatVanillaLstmTest, AnInitialStateIsAState) {
  for (const bool normalise : {false, true}) {
    ParameterCollection model;
    VanillaLSTMBuilder lstm(1, 3, 4, model, normalise);
    randomise(model, 1);
    ComputationGraph graph;
    lstm.new_graph(graph);
    const Doubles c = some_vector(8, 4), h = some_vector(9, 4), x = some_vector(0, 3);
    lstm.start_new_sequence({as_input(graph, c), as_input(graph, h)});
    EXPECT_TRUE(lstm.has_initial_state);
    expect_near(lstm.c0[0], c);
    expect_near(lstm.h0[0], h);
    const PlainState after = normalise ? plain_normalised_cell(lstm, 0, x, {h, c}, false)
                                       : plain_vanilla_cell(lstm.params[0], x, {h, c}, 1);
    expect_near(lstm.add_input(as_input(graph, x)), after.h);
    lstm.start_new_sequence();
    EXPECT_FALSE(lstm.has_initial_state);
  }
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

TEST_F(CompatSparseLstmTest, AtFirstItIsAVanillaLstm) {
  ComputationGraph graph;
  start(lstm, graph);
  expect_formula(lstm, graph,
                 [&](unsigned layer, const Doubles& x, const PlainState& old, unsigned) {
                   return plain_vanilla_cell(lstm.params[layer], x, old, 1);
                 });
  EXPECT_THROW(lstm.set_sparsity(-1), UsageError);
  EXPECT_THROW(lstm.set_sparsity(1.01f), UsageError);
}

TEST(CompatSparseLstmLayoutTest, NormalisesToo) {
  ParameterCollection model;
  SparseLSTMBuilder lstm(1, 3, 4, model, true, 0);
  const std::string path = "/vanilla-lstm-builder/_";
  EXPECT_EQ(layout_of(model), path + "0 {16,3}\n" + path + "1 {16,4}\n" + path + "2 {16,3}\n" +
                                  path + "3 {16,4}\n" + path + "4 {16}\n" + path + "5 {16}\n" +
                                  path + "6 {16}\n" + path + "7 {16}\n" + path + "8 {16}\n" + path +
                                  "9 {4}\n" + path + "10 {4}\n");
  ComputationGraph graph;
  start(lstm, graph);
  expect_formula(lstm, graph,
                 [&](unsigned layer, const Doubles& x, const PlainState& before, unsigned t) {
                   return plain_normalised_cell(lstm, layer, x, before, t == 0);
                 });
}

TEST(CompatCompactLstmTest, FollowsTheFormula) {
  ParameterCollection model;
  CompactVanillaLSTMBuilder lstm(2, 3, 4, model);
  randomise(model, 1);
  EXPECT_EQ(layout_of(model), vanilla_layout("compact-vanilla-lstm-builder"));
  ComputationGraph graph;
  start(lstm, graph);
  expect_formula(lstm, graph,
                 [&](unsigned layer, const Doubles& x, const PlainState& before, unsigned) {
                   return plain_vanilla_cell(lstm.params[layer], x, before, 1);
                 });
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

}  // namespace
}  // namespace dynet

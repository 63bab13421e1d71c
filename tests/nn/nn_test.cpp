// Layers: formulas against plain doubles, gradients, batching, shapes, errors, learning.
#include "nn/nn.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/data/treebank.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

// --------------------------------------------------------- the formulas once more, as plain loops

struct PlainState {
  Doubles h, c;
};

/// Tai et al. (2015), equations 9 to 14: a child that is not there has h = c = 0, an input that is
/// not there is 0. The rows are in the order f_l, f_r, i, o, u.
PlainState plain_tree_lstm(const ParameterCollection& model, const Doubles* x,
                           const PlainState& left, const PlainState& right) {
  const std::size_t n = left.h.size();
  Doubles a = numbers(model, "/tree_lstm/b");
  add_product(a, numbers(model, "/tree_lstm/U_left"), left.h);
  add_product(a, numbers(model, "/tree_lstm/U_right"), right.h);
  if (x != nullptr) {
    Doubles input(3 * n);
    add_product(input, numbers(model, "/tree_lstm/W"), *x);
    for (std::size_t e = 0; e < 3 * n; ++e) a[2 * n + e] += input[e];
  }
  PlainState state{Doubles(n), Doubles(n)};
  for (std::size_t e = 0; e < n; ++e) {
    const double f_left = sigmoid(a[e]), f_right = sigmoid(a[n + e]), i = sigmoid(a[2 * n + e]),
                 o = sigmoid(a[3 * n + e]), u = std::tanh(a[4 * n + e]);
    state.c[e] = i * u + f_left * left.c[e] + f_right * right.c[e];
    state.h[e] = o * std::tanh(state.c[e]);
  }
  return state;
}

TEST(NnTest, LinearFollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const Linear linear(model, 3, 5), without_bias(model, 3, 2, {.bias = false, .name = "plain"});
  const Embedding inputs(model, 1, 3);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const Expression x = inputs(graph, 0);
  Doubles expected = numbers(model, "/linear/b");
  add_product(expected, numbers(model, "/linear/W"), row(inputs.table(), 0));
  expect_near(linear(x).value(), expected);
  Doubles plain(2);
  add_product(plain, numbers(model, "/plain/W"), row(inputs.table(), 0));
  expect_near(without_bias(x).value(), plain);
  EXPECT_THROW(model.find("/plain/b"), UsageError);
}

// That of the operation, which tests/ops compares with plain loops.
TEST(NnTest, LSTMFollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const LSTM lstm(model, 3, 5);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const auto p = [&](const std::string& name) {
    return parameter(graph, Parameter(model.find("/lstm/" + name)));
  };
  const Expression matrix = drawn_matrix(graph, 3, 4, 1);
  std::vector<Expression> xs;
  for (unsigned i = 0; i < 4; ++i) xs.push_back(pick(matrix, i, 1));
  const std::vector<LSTM::State> states = lstm(xs);
  ASSERT_EQ(states.size(), 4u);
  CellState expected = {zeros(graph, {5}), zeros(graph, {5})};
  for (unsigned i = 0; i < 4; ++i) {
    expected = lstm_cell(p("b"), {p("W"), xs[i], p("U"), expected.h}, {expected.c});
    EXPECT_EQ(as_doubles(states[i].h.value()), as_doubles(expected.h.value()));
    EXPECT_EQ(as_doubles(states[i].c.value()), as_doubles(expected.c.value()));
  }
  EXPECT_TRUE(lstm({}).empty());
}

TEST(NnTest, TreeLSTMFollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const TreeLSTM tree_lstm(model, 3, 4);
  const Embedding inputs(model, 4, 3);
  randomise(model, 2);
  const Tree tree = parse_tree("(0 (0 (0 a) (0 b)) (0 (0 c) (0 d)))", "", 1);
  ComputationGraph graph(double_options());
  std::vector<Expression> xs;
  for (unsigned i = 0; i < 4; ++i) xs.push_back(inputs(graph, i));
  const std::vector<TreeLSTM::State> states = tree_lstm(tree, xs);
  ASSERT_EQ(states.size(), tree.size());
  const PlainState none{Doubles(4), Doubles(4)};
  std::vector<PlainState> expected;
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    if (tree.is_leaf(node)) {
      const Doubles x = row(inputs.table(), tree.nodes()[node].word);
      expected.push_back(plain_tree_lstm(model, &x, none, none));
    } else {
      expected.push_back(
          plain_tree_lstm(model, nullptr, expected[tree.left(node)], expected[tree.right(node)]));
    }
    expect_near(states[node].h.value(), expected[node].h);
    expect_near(states[node].c.value(), expected[node].c);
  }
}

TEST(NnTest, FirstValues) {
  ParameterCollection model;
  const TreeLSTM tree_lstm(model, 3, 2);
  const LSTM lstm(model, 3, 2);
  const Linear linear(model, 3, 2);
  EXPECT_EQ(numbers(model, "/tree_lstm/b"), (Doubles{1, 1, 1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(model, "/lstm/b"), (Doubles{1, 1, 0, 0, 0, 0, 0, 0}));
  EXPECT_EQ(numbers(model, "/linear/b"), (Doubles{0, 0}));
  // Glorot's bound is that of one gate's matrix, and nearly reached.
  const double bound = std::sqrt(6.0 / (2 + 3));
  double largest = 0;
  for (const double w : numbers(model, "/lstm/W")) largest = std::max(largest, std::abs(w));
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.8 * bound);
}

TEST(NnTest, LayersOfOneNameGetTheirOwnParameters) {
  ParameterCollection model;
  const Linear first(model, 2, 2), second(model, 2, 2);
  EXPECT_EQ(first.weights().get_fullname(), "/linear/W");
  EXPECT_EQ(second.weights().get_fullname(), "/linear_1/W");
}

// -------------------------------------------------------------------- all layers in one model

std::vector<Tree> some_trees() {
  std::vector<Tree> trees;
  for (const char* text : {"(0 a)", "(0 (0 a) (0 b))", "(0 (0 c) (0 (0 a) (0 d)))",
                           "(0 (0 (0 b) (0 b)) (0 (0 f) (0 e)))", "(0 (0 (0 a) (0 b)) (0 c))"}) {
    trees.push_back(parse_tree(text, "", 1));
  }
  return trees;
}

TEST(NnTest, NodesOfAllTreesBatch) {
  ParameterCollection model;
  const TreeLSTM tree_lstm(model, 3, 4);
  const Embedding embedding(model, 6, 3);
  Minibatch minibatch;
  for (const Tree& tree : some_trees()) {
    ComputationGraph& graph = minibatch.new_graph();
    const std::vector<Expression> words(tree.leaf_count(), embedding(graph, 0));
    minibatch.add_output(tree_lstm(tree, words).back().h);
  }
  minibatch.forward();
  const Report report = minibatch.explain();
  EXPECT_EQ(report.batches, report.bound);
  EXPECT_EQ(report.copied_bytes, 0u);
}

// ------------------------------------------------------------------------------------- mistakes

TEST(NnTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_THROW(Linear(model, 0, 3), ShapeError);
  EXPECT_THROW(Embedding(model, 0, 3), ShapeError);
  EXPECT_THROW(LSTM(model, 3, 0), ShapeError);
  EXPECT_THROW(TreeLSTM(model, 0, 3), ShapeError);
  const Linear linear(model, 3, 2);
  const LSTM lstm(model, 3, 2);
  const TreeLSTM tree_lstm(model, 3, 2);
  const Embedding embedding(model, 6, 3);
  ComputationGraph graph;
  const Expression x = ones(graph, {4});
  EXPECT_THROW(linear(x), ShapeError);
  EXPECT_THROW(lstm.step(lstm.start(graph), x), ShapeError);
  EXPECT_THROW(tree_lstm.leaf(x), ShapeError);
  EXPECT_THROW(tree_lstm.inner({x, x}, {x, x}), ShapeError);
  const auto refusal = [](const auto& action) { return message_of<ShapeError>(action); };
  EXPECT_EQ(refusal([&] { linear(x); }),
            "[Linear] need inputs of size 3 for \"/linear_1/W\"; got {4}");
  EXPECT_EQ(refusal([&] {
              lstm(ones(graph, {4, 3}));
            }),
            "[LSTM] need inputs of size 3 for \"/lstm_1/W\"; got {4,3}");
  EXPECT_EQ(refusal([&] {
              lstm.step({x, x}, ones(graph, {3}));
            }),
            "[LSTM] need states of size 2 for \"/lstm_1/U\"; got {4}");
  EXPECT_EQ(refusal([&] {
              GRU(model, 3, 2)(ones(graph, {4, 3}));
            }),
            "[GRU] need inputs of size 3 for \"/gru/W\"; got {4,3}");
  const GRU gru(model, 3, 2);
  EXPECT_EQ(refusal([&] {
              gru.step(ones(graph, {2, 5}), ones(graph, {3}));
            }),
            "[GRU] need states of size 2 for \"/gru_1/U\"; got {2,5}: give one column at a time, "
            "pick(x, i, 1)");
  EXPECT_EQ(refusal([&] {
              lstm.step(lstm.start(graph), ones(graph, {3, 5}));
            }),
            "[LSTM] need inputs of size 3 for \"/lstm_1/W\"; got {3,5}: give one column at a time, "
            "pick(x, i, 1), or call the layer itself, which takes a matrix of all columns");
  EXPECT_EQ(refusal([&] { tree_lstm.leaf(x); }),
            "[TreeLSTM] need inputs of size 3 for \"/tree_lstm_1/W\"; got {4}");
  const Tree tree = parse_tree("(0 (1 a) (1 b))", "a string", 1);
  EXPECT_EQ(refusal([&] {
              tree_lstm(tree, ones(graph, {4, 2}));
            }),
            "[TreeLSTM] need inputs of size 3 for \"/tree_lstm_1/W\"; got {4,2}");
  EXPECT_EQ(refusal([&] {
              tree_lstm(tree, ones(graph, {3, 3}));
            }),
            "[TreeLSTM] need a matrix of 2 columns, as many as the structure reads; got {3,3}");
  EXPECT_THROW(embedding(graph, 6), UsageError);
}

TEST(NnTest, TreesThatDoNotFit) {
  ParameterCollection model;
  const TreeLSTM tree_lstm(model, 3, 2);
  ComputationGraph graph;
  const std::vector<Expression> two(2, ones(graph, {3})), three(3, ones(graph, {3}));
  Tree ternary;
  for (int i = 0; i < 3; ++i) ternary.add_leaf(0, "a");
  ternary.add_parent(0, 3);
  EXPECT_THROW(tree_lstm(ternary, two), UsageError);
  EXPECT_THROW(tree_lstm(ternary, three), UsageError);
  EXPECT_TRUE(tree_lstm(Tree(), {}).empty());
}

// ------------------------------------------------------------------------------------ learning

/// Trains until the loss is small; returns the last one.
double train(const ParameterCollection& model, int steps,
             const std::function<void(Minibatch&)>& add_losses) {
  AdamTrainer trainer(model, 0.02f);
  Minibatch minibatch;
  double loss = 0;
  for (int step = 0; step < steps; ++step) {
    minibatch.clear();
    add_losses(minibatch);
    loss = static_cast<double>(minibatch.forward());
    trainer.update(minibatch.backward());
  }
  return loss;
}

TEST(NnTest, LSTMLearnsParity) {
  ParameterCollection model;
  const Embedding bits(model, 2, 4);
  const LSTM lstm(model, 4, 8);
  const Linear output(model, 8, 2);
  const double loss = train(model, 300, [&](Minibatch& minibatch) {
    for (unsigned number = 0; number < 16; ++number) {
      ComputationGraph& graph = minibatch.new_graph();
      std::vector<Expression> xs;
      unsigned parity = 0;
      for (unsigned bit = 0; bit < 4; ++bit) {
        xs.push_back(bits(graph, number >> bit & 1u));
        parity ^= number >> bit & 1u;
      }
      minibatch.add_loss(cross_entropy(output(lstm(xs).back().h), parity));
    }
  });
  EXPECT_LT(loss / 16, 0.05);
}

}  // namespace
}  // namespace dynet_like::nn

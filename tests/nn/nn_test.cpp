// Linear, LSTM, GRU and TreeLSTM: formulas, first values, batches, errors.
#include "nn/data/treebank.h"
#include "tests/support/layer_cases.h"
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

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
  const std::vector<Expression> xs = columns_of_matrix(matrix);
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

TEST(NnTest, NodesOfAllTreesBatch) {
  ParameterCollection model;
  const TreeLSTM tree_lstm(model, 3, 4);
  const Embedding embedding(model, 6, 3);
  Minibatch minibatch;
  for (const char* text : {"(0 a)", "(0 (0 a) (0 b))", "(0 (0 c) (0 (0 a) (0 d)))",
                           "(0 (0 (0 b) (0 b)) (0 (0 f) (0 e)))", "(0 (0 (0 a) (0 b)) (0 c))"}) {
    const Tree tree = parse_tree(text, "", 1);
    ComputationGraph& graph = minibatch.new_graph();
    const std::vector<Expression> words(tree.leaf_count(), embedding(graph, 0));
    minibatch.add_output(tree_lstm(tree, words).back().h);
  }
  minibatch.forward();
  const Report report = minibatch.explain();
  EXPECT_EQ(report.batches, report.bound);
  EXPECT_EQ(report.copied_bytes, 0u);
}

TEST(NnTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_THROW(Linear(model, 0, 3), ShapeError);
  EXPECT_THROW(Embedding(model, 0, 3), ShapeError);
  EXPECT_THROW(LSTM(model, 3, 0), ShapeError);
  EXPECT_THROW(TreeLSTM(model, 0, 3), ShapeError);
  const Linear linear(model, 3, 2);
  const LSTM lstm(model, 3, 2);
  const GRU gru(model, 3, 2);
  const TreeLSTM tree_lstm(model, 3, 2);
  const Tree tree = parse_tree("(0 (1 a) (1 b))", "a string", 1);
  ComputationGraph graph;
  const Expression x = ones(graph, {4}), xs = ones(graph, {4, 2}), good = ones(graph, {3});
  const std::pair<std::function<void()>, const char*> refused[] = {
      {[&] { linear(x); }, "[Linear] need inputs of size 3 for \"/linear_1/W\"; got {4}"},
      {[&] { lstm(xs); }, "[LSTM] need inputs of size 3 for \"/lstm_1/W\"; got {4,2}"},
      {[&] { gru(xs); }, "[GRU] need inputs of size 3 for \"/gru/W\"; got {4,2}"},
      {[&] {
         lstm.step({x, x}, good);
       },
       "[LSTM] need states of size 2 for \"/lstm_1/U\"; got {4}"},
      {[&] {
         gru.step(ones(graph, {2, 5}), good);
       },
       "[GRU] need states of size 2 for \"/gru/U\"; got {2,5}: give one column at a time, "
       "pick(x, i, 1)"},
      {[&] {
         lstm.step(lstm.start(graph), ones(graph, {3, 5}));
       },
       "[LSTM] need inputs of size 3 for \"/lstm_1/W\"; got {3,5}: give one column at a time, "
       "pick(x, i, 1), or call the layer itself, which takes a matrix of all columns"},
      {[&] { tree_lstm.leaf(x); },
       "[TreeLSTM] need inputs of size 3 for \"/tree_lstm_1/W\"; got {4}"},
      {[&] {
         tree_lstm.inner({x, x}, {x, x});
       },
       "[TreeLSTM] need states of size 2 ..."},
      {[&] { tree_lstm(tree, xs); },
       "[TreeLSTM] need inputs of size 3 for \"/tree_lstm_1/W\"; got {4,2}"},
      {[&] {
         tree_lstm(tree, ones(graph, {3, 3}));
       },
       "[TreeLSTM] need a matrix of 2 columns, as many as the structure reads; got {3,3}"}};
  for (const auto& [call, message] : refused) expect_refused<ShapeError>(message, call);
  EXPECT_THROW(Embedding(model, 6, 3)(graph, 6), UsageError);
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

// That of the operation, which tests/ops compares with plain loops; without x, its terms are 0.
TEST(GruTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const GRU gru(model, 3, 5);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const auto p = [&](const std::string& name) {
    return parameter(graph, Parameter(model.find("/gru/" + name)));
  };
  const Expression matrix = drawn_matrix(graph, 3, 4, 1);
  const std::vector<Expression> xs = columns_of_matrix(matrix);
  const std::vector<Expression> states = gru(xs);
  ASSERT_EQ(states.size(), 4u);
  Expression h = zeros(graph, {5});
  for (unsigned i = 0; i < 4; ++i) {
    h = gru_cell(p("b_h"), p("U"), h, p("b_x"), p("W"), xs[i]);
    EXPECT_EQ(as_doubles(states[i].value()), as_doubles(h.value()));
  }
  EXPECT_EQ(as_doubles(gru.step_without_input(h).value()),
            as_doubles(gru_cell(p("b_h"), p("U"), h).value()));
  EXPECT_TRUE(gru({}).empty());
}

TEST(GruTest, FirstValues) {
  ParameterCollection model;
  const GRU gru(model, 3, 2);
  EXPECT_EQ(numbers(model, "/gru/b_x"), Doubles(6));
  EXPECT_EQ(numbers(model, "/gru/b_h"), Doubles(6));
  EXPECT_EQ(model.find("/gru/W")->dim, Dim({6, 3}));
  EXPECT_EQ(model.find("/gru/U")->dim, Dim({6, 2}));
  // Glorot's bound is that of one gate's matrix, and nearly reached.
  const double bound = std::sqrt(6.0 / (2 + 3));
  double largest = 0;
  for (const double w : numbers(model, "/gru/W")) largest = std::max(largest, std::abs(w));
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.8 * bound);
}

}  // namespace
}  // namespace dynet_like::nn

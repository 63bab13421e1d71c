// Child-sum and N-ary Tree-LSTMs: formulas against plain doubles, gradients, batching, errors.
#include "tests/support/layers.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

constexpr unsigned kInputs = 3, kHidden = 4;

struct PlainState {
  Doubles h = Doubles(kHidden), c = Doubles(kHidden);
};

/// Tai et al. (2015), equations 2 to 8; the rows are in the order f, i, o, u.
PlainState plain_child_sum(const ParameterCollection& model, const Doubles& x,
                           const std::vector<PlainState>& children) {
  const std::string name = "/child_sum_tree_lstm/";
  Doubles from_x = numbers(model, name + "b"), sum(kHidden), from_sum(3 * kHidden);
  add_product(from_x, numbers(model, name + "W"), x);
  for (const PlainState& child : children) {
    for (unsigned e = 0; e < kHidden; ++e) sum[e] += child.h[e];
  }
  add_product(from_sum, numbers(model, name + "U"), sum);
  PlainState state;
  for (unsigned e = 0; e < kHidden; ++e) {
    const double i = sigmoid(from_x[kHidden + e] + from_sum[e]);
    const double u = std::tanh(from_x[3 * kHidden + e] + from_sum[2 * kHidden + e]);
    state.c[e] = i * u;
  }
  for (const PlainState& child : children) {
    Doubles forget(from_x.begin(), from_x.begin() + kHidden);
    add_product(forget, numbers(model, name + "U_f"), child.h);
    for (unsigned e = 0; e < kHidden; ++e) state.c[e] += sigmoid(forget[e]) * child.c[e];
  }
  for (unsigned e = 0; e < kHidden; ++e) {
    const double o = sigmoid(from_x[2 * kHidden + e] + from_sum[kHidden + e]);
    state.h[e] = o * std::tanh(state.c[e]);
  }
  return state;
}

/// Tai et al. (2015), equations 9 to 14, with three children; those that are not there, and an
/// input that is not there, are zeros. The rows are in the order f_1, f_2, f_3, i, o, u.
PlainState plain_nary(const ParameterCollection& model, const Doubles* x,
                      std::vector<PlainState> children) {
  const std::string name = "/nary_tree_lstm/";
  children.resize(3);
  Doubles a = numbers(model, name + "b");
  if (x != nullptr) {
    Doubles forgets(3 * kHidden), others(3 * kHidden);
    add_product(forgets, numbers(model, name + "W_f"), *x);
    add_product(others, numbers(model, name + "W"), *x);
    for (unsigned e = 0; e < 3 * kHidden; ++e) {
      a[e] += forgets[e];
      a[3 * kHidden + e] += others[e];
    }
  }
  for (unsigned k = 0; k < 3; ++k) {
    add_product(a, numbers(model, name + "U_" + std::to_string(k + 1)), children[k].h);
  }
  PlainState state;
  for (unsigned e = 0; e < kHidden; ++e) {
    const double i = sigmoid(a[3 * kHidden + e]), o = sigmoid(a[4 * kHidden + e]);
    state.c[e] = i * std::tanh(a[5 * kHidden + e]);
    for (unsigned k = 0; k < 3; ++k) state.c[e] += sigmoid(a[k * kHidden + e]) * children[k].c[e];
    state.h[e] = o * std::tanh(state.c[e]);
  }
  return state;
}

void expect_state(const CellState& got, const PlainState& expected) {
  expect_near(got.h.value(), expected.h);
  expect_near(got.c.value(), expected.c);
}

/// Inputs as parameters in double.
struct Inputs {
  Inputs(ParameterCollection& model, unsigned count) {
    for (unsigned i = 0; i < count; ++i) parameters.push_back(model.add_parameters({kInputs}));
  }
  std::vector<Expression> in(ComputationGraph& graph) const {
    std::vector<Expression> xs;
    for (const Parameter& each : parameters) xs.push_back(parameter(graph, each));
    return xs;
  }
  Expression columns(ComputationGraph& graph) const { return concatenate_cols(in(graph)); }
  Doubles plain(std::size_t i) const { return as_doubles(parameters[i].values()); }

  std::vector<Parameter> parameters;
};

TEST(ChildSumTreeLSTMTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const ChildSumTreeLSTM tree_lstm(model, kInputs, kHidden);
  EXPECT_EQ(numbers(model, "/child_sum_tree_lstm/b")[0], 1);
  EXPECT_EQ(numbers(model, "/child_sum_tree_lstm/b")[kHidden], 0);
  const Inputs inputs(model, 6);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  // The third word is the root; the first, the fifth and the sixth are its children.
  const std::vector<std::uint32_t> heads = {3, 1, 0, 5, 3, 3};
  const auto states = tree_lstm(heads_bottom_up(heads), inputs.columns(graph));
  const auto plain = [&](std::size_t word, const std::vector<PlainState>& children) {
    return plain_child_sum(model, inputs.plain(word - 1), children);
  };
  const PlainState second = plain(2, {}), fourth = plain(4, {}), sixth = plain(6, {});
  const PlainState first = plain(1, {second}), fifth = plain(5, {fourth});
  expect_state(states[1], second);
  expect_state(states[3], fourth);
  expect_state(states[0], first);
  expect_state(states[4], fifth);
  expect_state(states[2], plain(3, {first, fifth, sixth}));
}

TEST(ChildSumTreeLSTMTest, HeadsThatMakeNoTrees) {
  using Heads = std::vector<std::uint32_t>;
  EXPECT_EQ(heads_bottom_up(Heads{0, 0, 0}).size(), 3u);
  for (const auto& structure : {heads_bottom_up, heads_top_down}) {
    EXPECT_THROW(structure(Heads{0, 1, 4}), UsageError);
    EXPECT_THROW(structure(Heads{0, 2, 1}), UsageError);
    EXPECT_THROW(structure(Heads{2, 1, 0}), UsageError);
    EXPECT_THROW(structure(Heads{2, 3, 1}), UsageError);
  }
  ParameterCollection model;
  const ChildSumTreeLSTM tree_lstm(model, kInputs, kHidden);
  ComputationGraph graph;
  EXPECT_THROW(tree_lstm(heads_bottom_up(Heads{0, 1}), ones(graph, {kInputs})), ShapeError);
  EXPECT_THROW(tree_lstm(heads_bottom_up(Heads{0, 1}), ones(graph, {kInputs, 3})), ShapeError);
  const Structure::Vertex without_column;
  const std::string message = message_of<UsageError>([&] {
    tree_lstm(Structure(std::span(&without_column, 1)), ones(graph, {kInputs, 1}));
  });
  EXPECT_NE(message.find("NaryTreeLSTM"), std::string::npos) << message;
  // A long chain needs no deep stack.
  Heads chain;
  for (std::uint32_t word = 0; word < 20000; ++word) chain.push_back(word);
  const Expression xs = ones(graph, {kInputs, 20000});
  EXPECT_EQ(tree_lstm(heads_bottom_up(chain), xs)[0].h.value().d.size(), kHidden);
}

// From the root to the leaves, the state of a word has read those above it.
TEST(ChildSumTreeLSTMTest, ReadsTreesFromTheTop) {
  ParameterCollection model;
  const ChildSumTreeLSTM tree_lstm(model, kInputs, kHidden);
  ComputationGraph graph;
  const Expression xs = drawn_matrix(graph, kInputs, 3, 1);
  const auto states = tree_lstm(heads_top_down(std::vector<std::uint32_t>{2, 0, 1}), xs);
  CellState state = tree_lstm.node(pick(xs, 1, 1));
  for (const unsigned word : {0u, 2u}) {
    state = tree_lstm.node(pick(xs, word, 1), std::vector{state});
    EXPECT_EQ(as_vector(states[word].h.value()), as_vector(state.h.value()));
  }
}

TEST(NaryTreeLSTMTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const NaryTreeLSTM tree_lstm(model, kInputs, kHidden, {.children = 3});
  EXPECT_EQ(tree_lstm.children(), 3u);
  EXPECT_EQ(numbers(model, "/nary_tree_lstm/b")[3 * kHidden - 1], 1);
  EXPECT_EQ(numbers(model, "/nary_tree_lstm/b")[3 * kHidden], 0);
  const Inputs inputs(model, 4);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  const std::vector<Expression> xs = inputs.in(graph);
  const auto plain = [&](std::size_t i, const std::vector<PlainState>& children) {
    const Doubles x = inputs.plain(i);
    return plain_nary(model, &x, children);
  };
  const CellState leaf = tree_lstm.node(xs[0]), other = tree_lstm.node(xs[1]);
  const PlainState plain_leaf = plain(0, {}), plain_other = plain(1, {});
  expect_state(leaf, plain_leaf);
  const CellState two = tree_lstm.node(xs[2], std::vector{leaf, other});
  const PlainState plain_two = plain(2, {plain_leaf, plain_other});
  expect_state(two, plain_two);
  expect_state(tree_lstm.node(xs[3], std::vector{other, two, leaf}),
               plain(3, {plain_other, plain_two, plain_leaf}));
  expect_state(tree_lstm.node(std::vector{two, leaf}),
               plain_nary(model, nullptr, {plain_two, plain_leaf}));
}

/// With two children and inputs at the leaves it has the formula of TreeLSTM.
TEST(NaryTreeLSTMTest, OfTwoChildrenIsTheTreeLSTM) {
  ParameterCollection model;
  const NaryTreeLSTM nary(model, kInputs, kHidden, {.children = 2});
  const TreeLSTM binary(model, kInputs, kHidden);
  const auto take = [&](const char* to, const char* from) {
    Parameter(model.find(std::string("/tree_lstm/") + to))
        .set_value(as_vector(model.find(std::string("/nary_tree_lstm/") + from)->tensor()));
  };
  take("W", "W");
  take("U_left", "U_1");
  take("U_right", "U_2");
  take("b", "b");
  ComputationGraph graph;
  const Expression x = reshape(drawn_matrix(graph, kInputs, 1, 1), {kInputs});
  const CellState leaf = nary.node(x), other = nary.node(-x);
  EXPECT_EQ(as_vector(leaf.h.value()), as_vector(binary.leaf(x).h.value()));
  EXPECT_EQ(as_vector(nary.node(std::vector{leaf, other}).h.value()),
            as_vector(binary.inner(leaf, other).h.value()));
}

TEST(TreeLSTMsTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_THROW(ChildSumTreeLSTM(model, 0, 3), ShapeError);
  EXPECT_THROW(ChildSumTreeLSTM(model, 3, 0), ShapeError);
  EXPECT_THROW(NaryTreeLSTM(model, 0, 3, {.children = 2}), ShapeError);
  EXPECT_THROW(NaryTreeLSTM(model, 3, 3, {.children = 0}), UsageError);
  EXPECT_THROW(NaryTreeLSTM(model, 3, 3, {.children = 16}), UsageError);
  const ChildSumTreeLSTM child_sum(model, kInputs, kHidden);
  const NaryTreeLSTM nary(model, kInputs, kHidden, {.children = 3});
  ComputationGraph graph;
  const Expression x = ones(graph, {kInputs}), wrong = ones(graph, {kInputs + 2}),
                   xs = ones(graph, {kInputs, 2});
  const auto states = nary(heads_bottom_up(std::vector<std::uint32_t>{0, 1}), xs);
  EXPECT_EQ(states.size(), 2u);
  EXPECT_THROW(nary(heads_bottom_up(std::vector<std::uint32_t>{0}), xs), ShapeError);
  EXPECT_THROW(child_sum.node(wrong), ShapeError);
  EXPECT_THROW(child_sum.node(x, std::vector<CellState>{{wrong, wrong}}), ShapeError);
  EXPECT_THROW(nary.node(wrong), ShapeError);
  EXPECT_THROW(nary.node(x, std::vector<CellState>{{wrong, wrong}}), ShapeError);
  EXPECT_THROW(nary.node(x, std::vector<CellState>(4, nary.node(x))), UsageError);
  EXPECT_THROW(nary.node(std::vector<CellState>()), UsageError);
  const NaryTreeLSTM most(model, 3, 2, {.children = 15});
  EXPECT_NO_THROW(most.node(x, std::vector<CellState>(15, most.node(x))).h.value());
}

}  // namespace
}  // namespace dynet_like::nn

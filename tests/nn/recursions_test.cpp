// Layers along a whole sequence or tree as one node: the bits of their steps, also of gradients.
#include "tests/support/layer_cases.h"
#include "tests/support/precompiled.h"
#include "tests/support/same_bits.h"

namespace dynet_like::nn {
namespace {

using dynet_like::testing::append, dynet_like::testing::same;

constexpr unsigned kWordSize = 3, kStateSize = 4;

Expression matrix(ComputationGraph& graph, unsigned columns) {
  std::vector<float> numbers(kWordSize * columns);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 7) - 3;
  return input(graph, {kWordSize, columns}, numbers);
}

std::vector<float> gradients_of(const ParameterCollection& model, const Gradients& gradients) {
  std::vector<float> all;
  for (const auto& storage : model.storages()) {
    const std::vector<float> values = gradients.all_values(*storage);
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

// Two losses of one graph each, with the same gradients.
void expect_same(const ParameterCollection& model, const Expression& a, const Expression& b) {
  EXPECT_EQ(as_scalar(a.value()), as_scalar(b.value()));
  EXPECT_EQ(gradients_of(model, a.pg->backward(a)), gradients_of(model, b.pg->backward(b)));
}

template <class Layer>
class RecurrentAlongTest : public ::testing::Test {};
using Layers = ::testing::Types<LSTM, GRU>;
TYPED_TEST_SUITE(RecurrentAlongTest, Layers);

TYPED_TEST(RecurrentAlongTest, BeginsWithAState) {
  ParameterCollection model(1);
  const TypeParam layer(model, kWordSize, kStateSize);
  ComputationGraph graph;
  const Expression xs = matrix(graph, 3);
  const auto first = layer(pick_range(xs, 0, 2, 1));
  const auto rest = layer(pick_range(xs, 2, 3, 1), first.last());
  const Expression all =
      concatenate_cols({TypeParam::output(first.all()), TypeParam::output(rest.all())});
  EXPECT_EQ(as_vector(all.value()), as_vector(TypeParam::output(layer(xs).all()).value()));
}

TYPED_TEST(RecurrentAlongTest, HasTheStatesOfSteps) {
  ParameterCollection model(1);
  const TypeParam layer(model, kWordSize, kStateSize);
  for (const unsigned n : {1u, 2u, 7u}) {
    ComputationGraph graph, steps;
    const Expression xs = matrix(graph, n);
    const Expression left = TypeParam::output(layer(xs).all());
    const Expression right = TypeParam::output(layer.backwards(xs)[0]);
    std::vector<Expression> columns = columns_of_matrix(matrix(steps, n)), outputs;
    for (const auto& state : layer(columns)) outputs.push_back(TypeParam::output(state));
    std::reverse(columns.begin(), columns.end());
    const Expression last = TypeParam::output(layer(columns).back());
    const Expression all = concatenate_cols(outputs);
    std::vector<float> got, want;
    append(got, left.value());
    append(got, right.value());
    append(want, all.value());
    append(want, last.value());
    EXPECT_TRUE(same(got, want));
    expect_same(model, squared_norm(left) + squared_norm(right),
                squared_norm(all) + squared_norm(last));
  }
}

TYPED_TEST(RecurrentAlongTest, ReadsInBothDirections) {
  ParameterCollection model(1);
  const Bidirectional<TypeParam> layers(model, kWordSize, kStateSize, {.layers = 2});
  ComputationGraph graph, steps;
  const Expression together = layers(matrix(graph, 5));
  const Expression expected = concatenate_cols(layers(columns_of_matrix(matrix(steps, 5))));
  EXPECT_EQ(together.dim(), Dim({2 * kStateSize, 5}));
  EXPECT_EQ(as_vector(together.value()), as_vector(expected.value()));
  expect_same(model, squared_norm(together), squared_norm(expected));
}

TEST(TreeLSTMAlongTest, HasTheStatesOfNodes) {
  ParameterCollection model(1);
  const TreeLSTM layer(model, kWordSize, kStateSize);
  Tree tree;
  for (const char* word : {"a", "b", "c"}) tree.add_leaf(0, word);
  tree.add_parent(0, 2);
  tree.add_parent(0, 2);
  ComputationGraph graph, nodes;
  const States<CellState> states = layer(tree, matrix(graph, 3));
  ASSERT_EQ(states.size(), tree.size());
  std::vector<Expression> outputs;
  for (const CellState& state : layer(tree, columns_of_matrix(matrix(nodes, 3))))
    outputs.push_back(state.h);
  const Expression all = concatenate_cols(outputs);
  EXPECT_EQ(as_vector(states.all().h.value()), as_vector(all.value()));
  expect_same(model, squared_norm(states.all().h), squared_norm(all));
}

// `vertices` read those before them. Gradients are also of the columns.
template <class Layer>
void expect_states_of_nodes(ParameterCollection& model, const Layer& layer,
                            std::span<const Structure::Vertex> vertices) {
  unsigned n = 0;
  for (const auto& [children, column, kind, columns] : vertices) {
    if (column != Structure::kNoColumn) n = std::max(n, column + 1);
  }
  const Parameter added = model.add_parameters({kWordSize, n});
  ComputationGraph graph, nodes;
  const auto xs = [&](ComputationGraph& to) { return matrix(to, n) + parameter(to, added); };
  const CellState got = layer(Structure(vertices), xs(graph)).all();
  const std::vector<Expression> columns = columns_of_matrix(xs(nodes));
  std::vector<CellState> states;
  std::vector<Expression> h, c;
  for (const Structure::Vertex& vertex : vertices) {
    std::vector<CellState> children;
    for (const unsigned child : vertex.predecessors) children.push_back(states[child]);
    if (vertex.column == Structure::kNoColumn) {
      if constexpr (std::is_same_v<Layer, NaryTreeLSTM>) states.push_back(layer.node(children));
    } else {
      states.push_back(layer.node(columns[vertex.column], children));
    }
    h.push_back(states.back().h);
    c.push_back(states.back().c);
  }
  const CellState want{concatenate_cols(h), concatenate_cols(c)};
  EXPECT_EQ(as_vector(got.h.value()), as_vector(want.h.value()));
  EXPECT_EQ(as_vector(got.c.value()), as_vector(want.c.value()));
  expect_same(model, squared_norm(got.h) + squared_norm(got.c),
              squared_norm(want.h) + squared_norm(want.c));
}

// A chain, a wide tree, and one whose last vertex shares a child with another.
const std::vector<std::vector<Structure::Vertex>> kTrees = {
    {{{}, 2}, {{0}, 0}, {{1}, 1}},
    {{{}, 4}, {{}, 1}, {{}, 0}, {{0, 2, 1}, 3}},
    {{{}, 1}, {{}, 0}, {{1, 0}, 2}, {{0}, 4}, {{2, 3}, 3}}};

TEST(ChildSumTreeLSTMAlongTest, HasTheStatesOfNodes) {
  for (const std::vector<Structure::Vertex>& vertices : kTrees) {
    ParameterCollection model(1);
    const ChildSumTreeLSTM layer(model, kWordSize, kStateSize);
    expect_states_of_nodes(model, layer, vertices);
  }
}

TEST(NaryTreeLSTMAlongTest, HasTheStatesOfNodes) {
  for (std::vector<Structure::Vertex> vertices : kTrees) {
    for (const bool has_input : {true, false}) {
      ParameterCollection model(1);
      const NaryTreeLSTM layer(model, kWordSize, kStateSize, {.children = 3});
      if (!has_input) vertices.back().column = Structure::kNoColumn;
      expect_states_of_nodes(model, layer, vertices);
    }
  }
}

TEST(TreeLSTMAlongTest, RefusesOtherTrees) {
  ParameterCollection model(1);
  const TreeLSTM layer(model, kWordSize, kStateSize);
  Tree tree;
  tree.add_leaf(0, "a");
  tree.add_parent(0, 1);
  ComputationGraph graph;
  EXPECT_THROW(layer(tree, matrix(graph, 1)), UsageError);
  tree.add_leaf(0, "b");
  EXPECT_THROW(layer(tree, matrix(graph, 1)), ShapeError);
}

/// A layer as docs/recursions.md writes it.
struct OwnLayer {
  explicit OwnLayer(ParameterCollection& model) : linear(model, kWordSize, kWordSize) {
    along =
        recursion<Expression>([*this](const Expression& x, const std::vector<Expression>& before) {
          return step(x, before.empty() ? x : before[0]);
        });
    one = One([*this](const Expression& x, const Expression& h) { return step(x, h); });
  }
  Expression step(const Expression& x, const Expression& h) const { return tanh(linear(x) + h); }

  using One = CellFunction<Expression(const Expression&, const Expression&)>;
  Linear linear;
  Recursion<Expression> along;
  One one;
};

TEST(OwnLayersTest, OutliveTheObjectThatTheyWereCopiedFrom) {
  ParameterCollection model(1);
  auto first = std::make_unique<OwnLayer>(model);
  OwnLayer copy = *first;
  first.reset();
  const OwnLayer layer = std::move(copy);
  ComputationGraph graph;
  const Expression xs = matrix(graph, 2);
  const Expression x = pick(xs, 0, 1), y = pick(xs, 1, 1);
  const std::vector<float> expected = as_vector(layer.step(y, layer.step(x, x)).value());
  EXPECT_EQ(as_vector(layer.along(Structure::sequence(2), xs).last().value()), expected);
  EXPECT_EQ(as_vector(layer.one(y, layer.one(x, x)).value()), expected);
}

}  // namespace
}  // namespace dynet_like::nn

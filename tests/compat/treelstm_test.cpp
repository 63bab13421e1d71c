// <dynet/treelstm.h>: formulas, children, initial states, errors.

// Programs may declare them ahead.
namespace dynet {
struct TreeLSTMBuilder;
struct NaryTreeLSTMBuilder;
struct UnidirectionalTreeLSTMBuilder;
struct BidirectionalTreeLSTMBuilder;
}  // namespace dynet

#include <dynet/treelstm.h>

#include <algorithm>

#include "dynet_like/core/errors.h"
#include "tests/compat/builders.h"
#include "tests/support/precompiled.h"

namespace dynet {
namespace {

using dynet_like::UsageError;

/// Node 4 is the root; node 3 has one child.
const std::vector<std::vector<int>> kTree = {{}, {}, {}, {1}, {0, 3, 2}};

/// The output of the root. The inputs of samples differ.
template <class Builder>
Expression read_tree(Builder& builder, ComputationGraph& graph, unsigned sample,
                     const std::vector<std::vector<int>>& tree, unsigned inputs) {
  builder.start_new_sequence();
  builder.set_num_elements(static_cast<int>(tree.size()));
  Expression output;
  for (unsigned node = 0; node < tree.size(); ++node) {
    output = builder.add_input(static_cast<int>(node), tree[node],
                               some_input(graph, 10 * sample + node, inputs));
  }
  return output;
}

struct CompatNaryTest : testing::Test {
  CompatNaryTest() : builder(2, 2, 3, 4, model) { randomise(model, 1); }

  ParameterCollection model;
  NaryTreeLSTMBuilder builder;
  ComputationGraph graph;
};

/// What a table's rows make of the children; children from the second on share the last row.
struct PlainGate {
  const std::vector<PlainState>& children;

  void add(Doubles& sum, const LookupParameter& h_table, const LookupParameter* c_table,
           const std::function<unsigned(unsigned)>& row_of) const {
    for (unsigned k = 0; k < children.size(); ++k) {
      const unsigned row = row_of(std::min(k, 1u));
      dynet_like::nn::add_product(sum, dynet_like::nn::row(h_table, row), children[k].h);
      if (c_table == nullptr) continue;
      dynet_like::nn::add_product(sum, dynet_like::nn::row(*c_table, row), children[k].c);
    }
  }
};

PlainState plain_nary_cell(const std::vector<Parameter>& p, const std::vector<LookupParameter>& l,
                           const Doubles& x, const std::vector<PlainState>& children) {
  const PlainGate gate{children};
  const auto own = [](unsigned k) { return k; };
  Doubles i = plain_affine(p[1], {{p[0], x}}), o = plain_affine(p[5], {{p[4], x}});
  Doubles u = plain_affine(p[7], {{p[6], x}});
  gate.add(i, l[0], &l[4], own);
  gate.add(o, l[2], &l[6], own);
  gate.add(u, l[3], nullptr, own);
  Doubles c = plain_logistic(i) * plain_tanh(u);
  for (unsigned j = 0; j < children.size(); ++j) {
    Doubles f = plain_affine(p[3], {{p[2], x}});
    gate.add(f, l[1], &l[5], [&](unsigned k) { return 2 * k + std::min(j, 1u); });
    c = c + plain_logistic(1 + f) * children[j].c;
  }
  return {plain_logistic(o) * plain_tanh(c), c};
}

TEST_F(CompatNaryTest, FollowsTheFormula) {
  builder.new_graph(graph);
  const Expression root = read_tree(builder, graph, 0, kTree, 3);
  std::vector<std::vector<PlainState>> states(kTree.size());
  for (unsigned node = 0; node < kTree.size(); ++node) {
    Doubles x = some_vector(node, 3);
    for (unsigned layer = 0; layer < 2; ++layer) {
      std::vector<PlainState> children;
      for (const int child : kTree[node])
        children.push_back(states[static_cast<unsigned>(child)][layer]);
      states[node].push_back(
          plain_nary_cell(builder.params[layer], builder.lparams[layer], x, children));
      x = states[node].back().h;
      expect_near(builder.h[node][layer], x);
      expect_near(builder.c[node][layer], states[node].back().c);
    }
  }
  expect_near(root, states[4][1].h);
  EXPECT_EQ(builder.param_vars.size(), 2u);
  EXPECT_EQ(values_of(builder.lparam_vars[0][1][3]),
            as_vector((*builder.lparams[0][1].values())[3]));
}

TEST_F(CompatNaryTest, ParametersAreInTheirOrder) {
  EXPECT_EQ(builder.layers, 2u);
  EXPECT_EQ(builder.N, 2u);
  std::string expected;
  unsigned number = 0;
  for (const std::string x : {"{4,3}", "{4,4}"}) {
    const std::string n = "{4,4,2}", square = "{4,4,4}", b = "{4}";
    for (const std::string& shape : {x, n, n, b, x, square, square, b, x, n, n, b, x, n, b}) {
      expected += "/nary-tree-lstm-builder/_" + std::to_string(number++) + " " + shape + "\n";
    }
  }
  EXPECT_EQ(layout_of(model), expected);
  EXPECT_EQ(&builder.get_parameter_collection(), &builder.local_model);
}

// Sums of more products than one operation takes.
TEST_F(CompatNaryTest, NodesMayHaveManyChildren) {
  std::vector<std::vector<int>> tree(12);
  std::vector<PlainState> leaves;
  for (int leaf = 0; leaf < 11; ++leaf) tree[11].push_back(leaf);
  ParameterCollection own;
  NaryTreeLSTMBuilder single(2, 1, 3, 4, own);
  randomise(own, 5);
  single.new_graph(graph);
  const Expression root = read_tree(single, graph, 0, tree, 3);
  for (unsigned leaf = 0; leaf < 11; ++leaf) {
    leaves.push_back(
        plain_nary_cell(single.params[0], single.lparams[0], some_vector(leaf, 3), {}));
  }
  expect_near(root,
              plain_nary_cell(single.params[0], single.lparams[0], some_vector(11, 3), leaves).h);
}

TEST_F(CompatNaryTest, AnInitialStateIsAChildOfLeaves) {
  builder.new_graph(graph);
  std::vector<Expression> initial;
  for (unsigned i = 0; i < 4; ++i) initial.push_back(some_input(graph, 20 + i, 4));
  builder.start_new_sequence(initial);
  EXPECT_TRUE(builder.has_initial_state);
  EXPECT_EQ(values_of(builder.c0[1]), values_of(initial[1]));
  EXPECT_EQ(values_of(builder.h0[1]), values_of(initial[3]));
  builder.set_num_elements(1);
  const Expression leaf = builder.add_input(0, {}, some_input(graph, 0, 3));
  Doubles x = some_vector(0, 3);
  for (unsigned layer = 0; layer < 2; ++layer) {
    x = plain_nary_cell(builder.params[layer], builder.lparams[layer], x,
                        {{some_vector(22 + layer, 4), some_vector(20 + layer, 4)}})
            .h;
  }
  expect_near(leaf, x);
  EXPECT_THROW(builder.start_new_sequence({initial[0]}), UsageError);
}

TEST_F(CompatNaryTest, ValuesAreCopied) {
  builder.new_graph(graph);
  const auto expected = values_of(read_tree(builder, graph, 0, kTree, 3));
  ParameterCollection other_model;
  NaryTreeLSTMBuilder other(2, 2, 3, 4, other_model);
  other.copy(builder);
  ComputationGraph other_graph;
  other.new_graph(other_graph);
  EXPECT_EQ(values_of(read_tree(other, other_graph, 0, kTree, 3)), expected);
  NaryTreeLSTMBuilder ternary(3, 2, 3, 4, other_model), single(2, 1, 3, 4, other_model);
  EXPECT_THROW(ternary.copy(builder), UsageError);
  EXPECT_THROW(single.copy(builder), UsageError);
  EXPECT_THROW(builder.copy(LSTMBuilder(2, 3, 4, other_model)), UsageError);
}

struct UnidirectionalBuilder : UnidirectionalTreeLSTMBuilder {
  explicit UnidirectionalBuilder(ParameterCollection& model)
      : UnidirectionalTreeLSTMBuilder(2, 4, 4, model) {}
};
struct BidirectionalBuilder : BidirectionalTreeLSTMBuilder {
  explicit BidirectionalBuilder(ParameterCollection& model)
      : BidirectionalTreeLSTMBuilder(2, 4, 4, model) {}
};
struct NaryBuilder : NaryTreeLSTMBuilder {
  explicit NaryBuilder(ParameterCollection& model) : NaryTreeLSTMBuilder(2, 2, 4, 4, model) {}
};

template <class Builder>
struct CompatTreeTest : testing::Test {
  CompatTreeTest() : builder(model) { randomise(model, 1); }

  ParameterCollection model;
  Builder builder;
  ComputationGraph graph;
};

using Builders = testing::Types<NaryBuilder, UnidirectionalBuilder, BidirectionalBuilder>;
TYPED_TEST_SUITE(CompatTreeTest, Builders);

TYPED_TEST(CompatTreeTest, BatchesHaveTheBitsOfOneByOne) {
  const std::vector<std::vector<std::vector<int>>> trees = {
      kTree, {{}, {}, {0, 1}}, {{}}, {{}, {0}, {1}, {}, {2, 3}}};
  const auto read = [&](ComputationGraph& graph, unsigned sample) {
    this->builder.new_graph(graph);
    return read_tree(this->builder, graph, sample, trees[sample % 4], 4);
  };
  expect_bits_of_one_by_one(this->model, 12, read);
}

TYPED_TEST(CompatTreeTest, GradientsReachEveryParameter) {
  const auto learn = [&](bool update) {
    this->builder.new_graph(this->graph, update);
    this->graph.backward(squared_norm(read_tree(this->builder, this->graph, 0, kTree, 4)));
  };
  learn(true);
  expect_gradients_everywhere(this->model);
  this->model.reset_gradient();
  learn(false);
  for (const auto& storage : this->model.get_parameter_storages_base()) {
    EXPECT_FALSE(storage->has_grad()) << storage->name;
  }
}

TYPED_TEST(CompatTreeTest, NodesComeAfterTheirChildren) {
  TreeLSTMBuilder& builder = this->builder;
  const Expression x = some_input(this->graph, 0, 4);
  EXPECT_THROW(builder.add_input(0, {}, x), UsageError);
  builder.new_graph(this->graph);
  builder.start_new_sequence();
  EXPECT_THROW(builder.set_num_elements(-1), UsageError);
  builder.set_num_elements(2);
  EXPECT_THROW(builder.add_input(1, {0}, x), UsageError);
  EXPECT_THROW(builder.add_input(1, {-1}, x), UsageError);
  EXPECT_THROW(builder.add_input(1, {1}, x), UsageError);
  EXPECT_THROW(builder.add_input(1, {2}, x), UsageError);
  EXPECT_THROW(builder.add_input(3, {}, x), UsageError);
  EXPECT_THROW(builder.add_input(-1, {}, x), UsageError);
  builder.add_input(1, {}, x);
  EXPECT_NO_THROW(builder.add_input(0, {1}, x));
  EXPECT_NO_THROW(builder.add_input(2, {1, 0}, x));
  EXPECT_EQ(this->builder.h.size(), 3u);
  builder.start_new_sequence();
  EXPECT_TRUE(this->builder.h.empty());
}

// DyNet's programs do not say how many nodes there are.
TYPED_TEST(CompatTreeTest, NodesNeedNoPlacesIfTheyComeInOrder) {
  this->builder.new_graph(this->graph);
  const Expression expected = read_tree(this->builder, this->graph, 0, kTree, 4);
  this->builder.start_new_sequence();
  Expression root;
  for (unsigned node = 0; node < kTree.size(); ++node) {
    const int id = static_cast<int>(node);
    const Expression x = some_input(this->graph, node, 4);
    EXPECT_THROW(this->builder.add_input(id + 1, {}, x), UsageError);
    EXPECT_THROW(this->builder.add_input(id, {id}, x), UsageError);
    EXPECT_EQ(this->builder.h.size(), node);
    root = this->builder.add_input(id, kTree[node], x);
  }
  EXPECT_EQ(values_of(root), values_of(expected));
  const Expression again = this->builder.add_input(0, {}, some_input(this->graph, 9, 4));
  EXPECT_NE(values_of(again), values_of(expected));
  EXPECT_EQ(this->builder.h.size(), kTree.size());
}

TYPED_TEST(CompatTreeTest, WhatBelongsToSequencesThrows) {
  TreeLSTMBuilder& builder = this->builder;
  builder.new_graph(this->graph);
  builder.start_new_sequence();
  builder.set_num_elements(1);
  builder.add_input(0, {}, some_input(this->graph, 0, 4));
  EXPECT_THROW(builder.back(), UsageError);
  EXPECT_THROW(builder.final_h(), UsageError);
  EXPECT_THROW(builder.final_s(), UsageError);
  EXPECT_THROW(builder.get_h(0), UsageError);
  EXPECT_THROW(builder.get_s(0), UsageError);
  EXPECT_THROW(builder.num_h0_components(), UsageError);
  EXPECT_THROW(builder.set_h_impl(0, {}), UsageError);
  EXPECT_THROW(builder.set_s_impl(0, {}), UsageError);
  RNNBuilder& base = builder;
  EXPECT_THROW(base.add_input(some_input(this->graph, 0, 4)), UsageError);
  EXPECT_THROW(base.set_h(-1), UsageError);
  LSTMBuilder sequences(2, 4, 4, this->model);
  EXPECT_THROW(base.copy(sequences), UsageError);
}

/// What an LSTM makes of vectors.
Expression read(LSTMBuilder& lstm, ComputationGraph& graph, const std::vector<Expression>& xs) {
  LSTMBuilder own = lstm;
  own.new_graph(graph);
  own.start_new_sequence();
  for (const Expression& x : xs) own.add_input(x);
  return own.back();
}

TEST(CompatUnidirectionalTest, ChildrenAreReadFromLeftToRight) {
  ParameterCollection model;
  UnidirectionalTreeLSTMBuilder builder(2, 4, 4, model);
  randomise(model, 1);
  EXPECT_EQ(model.find("/unidirectional-tree-lstm-builder/vanilla-lstm-builder/_0")->dim,
            Dim({16, 4}));
  EXPECT_EQ(builder.get_parameter_collection().size(), 6u);
  EXPECT_EQ(builder.local_model.size(), 6u);
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression root = read_tree(builder, graph, 0, kTree, 4);
  const Expression expected =
      read(builder.node_builder, graph,
           {some_input(graph, 4, 4), builder.h[0], builder.h[3], builder.h[2]});
  EXPECT_EQ(values_of(root), values_of(expected));
  EXPECT_EQ(values_of(builder.h[1]),
            values_of(read(builder.node_builder, graph, {some_input(graph, 1, 4)})));
}

TEST(CompatBidirectionalTest, ChildrenAreReadInBothDirections) {
  ParameterCollection model;
  BidirectionalTreeLSTMBuilder builder(1, 4, 4, model);
  EXPECT_THROW(BidirectionalTreeLSTMBuilder(1, 4, 5, model), UsageError);
  randomise(model, 1);
  EXPECT_EQ(builder.get_parameter_collection().size(), 6u);
  EXPECT_EQ(builder.local_model.size(), 6u);
  EXPECT_EQ(model.find("/bidirectional-tree-lstm-builder/vanilla-lstm-builder_1/_0")->dim,
            Dim({8, 4}));
  ComputationGraph graph;
  builder.new_graph(graph);
  const Expression root = read_tree(builder, graph, 0, kTree, 4), x = some_input(graph, 4, 4);
  const std::vector<Expression>& h = builder.h;
  const Expression expected =
      concatenate({read(builder.fwd_node_builder, graph, {x, h[0], h[3], h[2]}),
                   read(builder.rev_node_builder, graph, {x, h[2], h[3], h[0]})});
  EXPECT_EQ(values_of(root), values_of(expected));
}

}  // namespace
}  // namespace dynet

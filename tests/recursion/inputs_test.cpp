// Recursions with several input matrices, and with kinds that have not all parts of a state.
#include "nn/child_sum_tree_lstm.h"
#include "nn/data/tree.h"
#include "nn/nary_tree_lstm.h"
#include "nn/structures.h"
#include "nn/tree_lstm.h"
#include "tests/support/message_of.h"
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kHidden = 4, kLabel = 3;

/// Vertices that read words of one matrix and labels of another, and states of two parts.
struct InputNetwork {
  InputNetwork() {
    words = model.add_parameters({kHidden, 8}, ParameterInitUniform(-1, 1), "words");
    labels = model.add_parameters({kLabel, 8}, ParameterInitUniform(-1, 1), "labels");
    w = model.add_parameters({kHidden, kHidden}, "W");
    u = model.add_parameters({kHidden, kHidden}, "U");
    v = model.add_parameters({kHidden, kLabel}, "V");
    b = model.add_parameters({kHidden}, ParameterInitUniform(-1, 1), "b");
  }
  // Kind 1 has no h, kind 2 has for h what is the same for all.
  CellState step(ComputationGraph& graph, unsigned kind, const std::vector<Expression>& columns,
                 const std::vector<CellState>& before) const {
    Expression sum = parameter(graph, b);
    if (!columns[0].empty()) sum = sum + parameter(graph, w) * columns[0];
    if (!columns[1].empty()) sum = sum + parameter(graph, v) * columns[1];
    for (const CellState& state : before) sum = sum + parameter(graph, u) * state.h + state.c;
    const Expression c = tanh(sum);
    if (kind == 1) return {Expression(), c};
    if (kind == 2) return {tanh(parameter(graph, b)), c};
    return {sigmoid(sum), c};
  }
  Recursion<CellState> recursion() const {
    return dynet_like::recursion<CellState>(
        [this](unsigned kind, const std::vector<Expression>& columns,
               const std::vector<CellState>& before) {
          for (const Expression& x : columns) {
            if (!x.empty()) return step(*x.pg, kind, columns, before);
          }
          return step(*before[0].c.pg, kind, columns, before);
        },
        "lattice");
  }

  ParameterCollection model{3};
  Parameter words, labels, w, u, v, b;
};

/// Vertices of both matrices, of one, and of the other; kinds 0, 1 and 2.
struct Lattice {
  explicit Lattice(unsigned n) {
    constexpr unsigned kNone = Structure::kNoColumn;
    for (unsigned i = 0; i < n; ++i) {
      if (i > 0) before.push_back({i - 1, i / 2});
      if (i == 0) before.push_back({});
      columns.push_back({i % 3 == 1 ? kNone : i % 8, i % 3 == 2 ? kNone : (3 * i) % 8});
      kinds.push_back(i % 4 == 2 ? 1 : i % 5 == 4 ? 2 : 0);
    }
  }
  Structure structure() const {
    std::vector<Structure::Vertex> vertices;
    for (std::size_t i = 0; i < before.size(); ++i) {
      vertices.push_back({before[i], Structure::kNoColumn, kinds[i], columns[i]});
    }
    return Structure(vertices);
  }
  std::vector<std::vector<unsigned>> before, columns;
  std::vector<unsigned> kinds;
};

constexpr unsigned kSizes[] = {7, 1, 12, 3};

Sample sample_of(const CellState& all) {
  return {squared_norm(all.c) + sum_elems(all.h), {all.h, all.c}};
}

Program by_recursion(const InputNetwork& network) {
  const auto lattice = network.recursion();
  return {network.model,
          [&network, lattice](ComputationGraph& graph, unsigned sample) {
            const std::vector<Expression> matrices = {parameter(graph, network.words),
                                                      parameter(graph, network.labels)};
            return sample_of(lattice(Lattice(kSizes[sample]).structure(), matrices).all());
          },
          std::size(kSizes)};
}

Program by_hand(const InputNetwork& network) {
  const auto record = [&network](ComputationGraph& graph, unsigned sample) {
    const Lattice lattice(kSizes[sample]);
    std::vector<CellState> states;
    std::vector<Expression> h, c;
    for (unsigned i = 0; i < kSizes[sample]; ++i) {
      std::vector<Expression> columns(2);
      const Parameter matrices[] = {network.words, network.labels};
      for (unsigned m = 0; m < 2; ++m) {
        if (lattice.columns[i][m] == Structure::kNoColumn) continue;
        columns[m] = pick(parameter(graph, matrices[m]), lattice.columns[i][m], 1);
      }
      std::vector<CellState> before;
      for (unsigned p : lattice.before[i]) before.push_back(states[p]);
      states.push_back(network.step(graph, lattice.kinds[i], columns, before));
      if (states.back().h.empty()) states.back().h = zeros(graph, {kHidden});
      h.push_back(states.back().h);
      c.push_back(states.back().c);
    }
    return sample_of({concatenate_cols(h), concatenate_cols(c)});
  };
  return {network.model, record, std::size(kSizes)};
}

std::vector<float> floats(const Expression& x) { return as_vector(x.value()); }

TEST(RecursionInputs, AreColumnsOfSeveralMatrices) {
  const InputNetwork network;
  Outcome got = run(by_recursion(network));
  const Outcome want = run(by_hand(network));
  got.gradients = want.gradients;  // operations of parameters alone have none of their own
  EXPECT_TRUE(near(got, want));
  Program program = by_recursion(network);
  program.derives = true;
  expect_same_in_all_modes(program);
}

// One column of a structure is that of all matrices.
TEST(RecursionInputs, MayShareTheirColumns) {
  const InputNetwork network;
  const auto lattice = network.recursion();
  ComputationGraph graph;
  const std::vector<Expression> matrices = {parameter(graph, network.words),
                                            parameter(graph, network.labels)};
  const Expression shared = lattice(Structure::sequence(5), matrices).all().h;
  std::vector<Structure::Vertex> vertices(5);
  for (unsigned i = 0; i < 5; ++i) {
    if (i > 0) vertices[i].predecessors = {i - 1};
    vertices[i].columns = {i, i};
  }
  EXPECT_EQ(floats(shared), floats(lattice(Structure(vertices), matrices).all().h));
}

TEST(RecursionInputs, OfTreesAreAtLeavesOrAtAllNodes) {
  nn::Tree tree;  // (0 1) 2
  for (const char* word : {"the", "cat"}) tree.add_leaf(0, word);
  tree.add_parent(0, 2);
  tree.add_leaf(0, "sleeps");
  tree.add_parent(0, 2);
  const auto sum = recursion<Expression>(
      [](const std::vector<Expression>& columns, const std::vector<Expression>& before) {
        std::vector<Expression> all = before;
        for (const Expression& x : columns) {
          if (!x.empty()) all.push_back(x);
        }
        return dynet_like::sum(all);
      },
      "sum");
  ComputationGraph graph;
  const Expression leaves = input(graph, {1, 3}, {1, 2, 4});
  const Expression nodes = input(graph, {1, 5}, {10, 20, 40, 80, 160});
  EXPECT_EQ(floats(sum(nn::structure_of(tree), leaves).last()), std::vector<float>{7});
  EXPECT_EQ(floats(sum(nn::structure_of(tree, nn::TreeColumns::nodes), nodes).last()),
            std::vector<float>{310});
  EXPECT_EQ(
      floats(
          sum(nn::structure_of(tree, nn::TreeColumns::leaves_and_nodes), {leaves, nodes}).last()),
      std::vector<float>{317});
}

// A layer that has no use for a column says so.
TEST(RecursionInputs, OfInnerNodesAreForLayersThatTakeThem) {
  nn::Tree tree;  // 0 1
  tree.add_leaf(0, "the");
  tree.add_leaf(0, "cat");
  tree.add_parent(0, 2);
  const Structure structure = nn::structure_of(tree, nn::TreeColumns::nodes);
  ParameterCollection model(1);
  const nn::TreeLSTM leaves_only(model, kLabel, kHidden);
  const nn::NaryTreeLSTM nary(model, kLabel, kHidden, {.children = 2});
  const nn::ChildSumTreeLSTM child_sum(model, kLabel, kHidden);
  ComputationGraph graph;
  const Expression xs = input(graph, {kLabel, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  expect_refused<UsageError>(
      "[TreeLSTM] need inputs at leaves only; got one at an inner node: NaryTreeLSTM takes those",
      [&] { leaves_only(structure, xs); });
  EXPECT_EQ(floats(leaves_only(tree, pick_range(xs, 0, 2, 1)).last().h).size(), kHidden);
  const Expression others = input(graph, {kLabel, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 10});
  EXPECT_NE(floats(nary(structure, xs).last().h), floats(nary(structure, others).last().h));
  EXPECT_NE(floats(child_sum(structure, xs).last().h),
            floats(child_sum(structure, others).last().h));
}

TEST(RecursionInputs, ThatDoNotFitAreRefused) {
  using Vertices = std::vector<Structure::Vertex>;
  const InputNetwork network;
  const auto lattice = network.recursion();
  ComputationGraph graph;
  const Expression words = parameter(graph, network.words);
  const Expression labels = parameter(graph, network.labels);
  const Structure structure = Lattice(7).structure(), two = Structure::sequence(2);
  const auto one = recursion<Expression>(
      [](const Expression& x, const std::vector<Expression>&) { return tanh(x); }, "one");
  const auto half_of = [](const Expression& x) { return CellState{tanh(x), Expression()}; };
  const auto half = recursion<CellState>(
      [=](const Expression& x, const std::vector<CellState>&) { return half_of(x); }, "half");
  const std::vector<unsigned> many(31);
  expect_refused<UsageError>(
      "[lattice] need as many matrices as the vertices have columns, 2; got 3", [&] {
        lattice(structure, {words, labels, words});
      });
  expect_refused<ShapeError>(
      "[lattice] need a matrix of at least 5 columns, which the vertices read; got {3,2}", [&] {
        lattice(structure, {words, pick_range(labels, 0, 2, 1)});
      });
  expect_refused<UsageError>(
      "[one] need a function of `const std::vector<Expression>& columns` for several input "
      "matrices; "
      "got a function of one column, and 2 matrices",
      [&] {
        one(two, {words, words});
      });
  expect_refused<UsageError>(
      "[Structure] need as many columns as other vertices have, 2; got 3 for vertex 1", [] {
        Structure(Vertices{{{}, 0, 0, {0, 1}}, {{}, 0, 0, {0, 1, 2}}});
      });
  expect_refused<UsageError>("[Structure] need at most 30 columns per vertex; got 31", [&] {
    Structure(Vertices{{{}, 0, 0, many}});
  });
  expect_refused<UsageError>(
      "[half] need all parts of a state from the first kind of vertices, which has the fewest "
      "predecessors; got an empty part 1: return zeros of its shape",
      [&] { half(two, words); });
  expect_refused<UsageError>(
      "[half_cell] need all parts of a state; got an empty part 1: return zeros of its shape",
      [&] { cell(half_of, "half_cell")(words); });
  const auto thirty =
      recursion<Expression>([](const std::vector<Expression>& columns,
                               const std::vector<Expression>&) { return sum(columns); });
  const Structure one_of_each(Vertices{{.columns = std::vector<unsigned>(30)}});
  EXPECT_EQ(floats(thirty(one_of_each, std::vector<Expression>(30, pick(words, 0u, 1))).last()),
            floats(pick(words, 0u, 1) * 30.0f));
}

// A cell may return what follows from parameters alone.
TEST(RecursionInputs, NeedNotReachTheResult) {
  const InputNetwork network;
  ComputationGraph graph;
  const auto constant = cell(
      [&](ComputationGraph& g, const Expression&) { return parameter(g, network.b); }, "constant");
  const Expression result = constant(graph, zeros(graph, {1}));
  EXPECT_EQ(floats(result), floats(parameter(graph, network.b)));
  Gradients gradients;
  graph.backward(sum_elems(result), gradients);
  EXPECT_EQ(gradients.all_values(*network.model.storages().back()), std::vector<float>(kHidden, 1));
}

}  // namespace
}  // namespace dynet_like::testing

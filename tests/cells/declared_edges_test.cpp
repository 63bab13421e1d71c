// What functions of declared cells may do, what is refused, and errors.
#include <array>
#include <stdexcept>

#include "tests/cells/declared_cells.h"
#include "tests/support/message_of.h"

namespace dynet_like::testing {
namespace {

using CellsDeclaredEdges = CellsDeclared;

// -------------------------------------------------------------------------- what functions may do

TEST_F(CellsDeclaredEdges, InsideOthersArePartsOfThem) {
  ComputationGraph graph;
  const auto inner =
      cell([this](ComputationGraph& g, const Expression& x) { return step(g, x, x); }, "inner");
  const auto outer =
      cell([&](ComputationGraph& g, const Expression& x) { return inner(g, tanh(inner(g, x))); },
           "outer");
  const Report report = report_of(graph, outer(graph, outer(graph, word(graph, 1))));
  ASSERT_EQ(report.cells.size(), 1u) << report;
  EXPECT_EQ(report.cells[0].name, "outer");
  EXPECT_EQ(report.cells[0].size, 13u);
  EXPECT_EQ(report.cells[0].cells, 2u);
}

TEST_F(CellsDeclaredEdges, EndWhereTheirFunctionsThrow) {
  ComputationGraph graph;
  const auto faulty = cell(
      [](const Expression& x, bool fails) {
        const Expression y = exp(tanh(x));
        if (fails) throw std::runtime_error("no");
        return y;
      },
      "faulty");
  const auto outer = cell(
      [&](const Expression& x) {
        try {
          return faulty(logistic(x), true);
        } catch (const std::runtime_error&) {
          return faulty(x, false);
        }
      },
      "outer");
  const Expression x = word(graph, 1);
  EXPECT_THROW(faulty(x, true), std::runtime_error);
  const Expression y = square(sqrt(x));  // in no cell
  const Report report = report_of(graph, outer(y));
  ASSERT_EQ(report.cells.size(), 1u) << report;
  EXPECT_EQ(report.cells[0].name, "outer");
  EXPECT_EQ(report.cells[0].ops, "tanh exp");  // nobody needs the rest
  EXPECT_EQ(report.nodes, 5u);
}

TEST_F(CellsDeclaredEdges, MayAskForValues) {
  expect_same_with_cells([this](const GraphOptions& options, Notes& notes) {
    const auto step = cell([&](ComputationGraph& graph, const Expression& x) {
      const Expression a = tanh(affine(graph, u, x)), b = logistic(affine(graph, v, x));
      notes.add("a", a.value());
      const unsigned row = a.value().v[0] > 0 ? 1 : 2;
      return cmult(cmult(a, b), lookup(graph, table, row));
    });
    ComputationGraph graph(options);
    Expression x = word(graph, 1);
    for (unsigned i = 0; i < 4; ++i) x = step(graph, x);
    const Expression loss = squared_norm(x);
    notes.add("loss", loss.value());
    notes.add("u", graph.backward(loss).values(u));
    notes.add("v", graph.backward(loss).values(v));
    // Two nodes for the value, and the others later.
    EXPECT_EQ(graph.explain().nodes_in_cells, options.cells_after == 0 ? 0u : 4 * 7u);
    notes.nodes_in_cells = graph.explain().nodes_in_cells;
  });
}

// Nodes that nobody asked for are not in it; they may be asked for later.
TEST_F(CellsDeclaredEdges, HaveTheNodesThatAreNeeded) {
  expect_same_with_cells([this](const GraphOptions& options, Notes& notes) {
    const auto two = cell([&](ComputationGraph& graph, const Expression& x) {
      const Expression a = affine(graph, u, x);
      return std::array{tanh(a), logistic(exp(a)), square(x)};
    });
    ComputationGraph graph(options);
    const Expression x = word(graph, 1);
    affine(graph, v, x);  // all parameters are recorded
    affine(graph, u, x);
    const auto [a, b, c] = two(graph, x);
    notes.add("a", a.value());
    EXPECT_EQ(graph.explain().nodes_in_cells, options.cells_after == 0 ? 0u : 2u)
        << graph.explain();
    const Expression loss = squared_norm(a + b + c);
    notes.add("loss", loss.value());
    notes.add("u", graph.backward(loss).values(u));
    notes.add("x", x.gradient());
    notes.nodes_in_cells = graph.explain().nodes_in_cells;
  });
}

TEST_F(CellsDeclaredEdges, AreCutByReverts) {
  expect_same_with_cells([this](const GraphOptions& options, Notes& notes) {
    ComputationGraph graph(options);
    const auto step = cell(
        [this](ComputationGraph& g, const Expression& x) { return this->step(g, x, x); }, "step");
    Expression kept = step(graph, word(graph, 1)), state = kept;
    const auto inside = cell(
        [&](ComputationGraph& g, const Expression& x, bool reverts) {
          const Expression a = tanh(affine(g, u, x));
          graph.checkpoint();
          const Expression b = logistic(affine(g, v, a));
          notes.add("b", b.value());
          if (reverts) graph.revert();
          return exp(cmult(a, reverts ? square(a) : b));
        },
        "inside");
    for (unsigned i = 0; i < 4; ++i) {  // around: the last rounds leave nothing
      graph.checkpoint();
      for (unsigned k = 0; k < 3; ++k) state = step(graph, state);
      state = inside(graph, state, i % 2 == 0);
      notes.add("state", state.value());
      graph.revert();
      if (i % 2 == 1) graph.revert();  // the one inside comes first
      state = step(graph, kept);       // regrown
      notes.add("again", state.value());
    }
    const Expression loss = squared_norm(state);
    notes.add("loss", loss.value());
    notes.add("u", graph.backward(loss).values(u));
    notes.nodes_in_cells = graph.explain().nodes_in_cells;
  });
}

// A revert in a function to before it was called, and a clear.
TEST_F(CellsDeclaredEdges, MayRevertAndClearTheirGraph) {
  ComputationGraph graph;
  graph.checkpoint();
  const Expression before = step(graph, word(graph, 1), word(graph, 2));
  const auto reverting = cell(
      [&](ComputationGraph& g, const Expression&) {
        g.revert();
        return step(g, word(g, 1), word(g, 1));
      },
      "reverting");
  Report report = report_of(graph, exp(reverting(graph, before)));
  ASSERT_EQ(report.cells.size(), 1u) << report;
  EXPECT_EQ(report.cells[0].size, 8u);  // with two lookups
  const auto clearing = cell(
      [&](ComputationGraph& g) {
        g.clear();
        const auto inner = cell([&](const Expression& x) { return tanh(exp(x)); }, "inner");
        return inner(word(g, 1));
      },
      "clearing");
  const Expression after = clearing(graph);
  report = report_of(graph, square(sqrt(after)));
  ASSERT_EQ(report.cells.size(), 1u) << report;
  EXPECT_EQ(report.cells[0].name, "clearing");
  EXPECT_EQ(report.cells[0].size, 3u);
  EXPECT_EQ(report.nodes, 5u);
}

TEST_F(CellsDeclaredEdges, BesideACheckpointAreWhole) {
  ComputationGraph graph;
  const auto two = cell([](const Expression& x) { return exp(tanh(x)); }, "two");
  graph.checkpoint();
  Expression x = two(word(graph, 1));
  graph.checkpoint();
  x = two(x);
  graph.checkpoint();
  EXPECT_EQ(report_of(graph, x).nodes_in_cells, 4u);
  const auto parted = cell(
      [&](const Expression& y) {
        const Expression z = tanh(y);
        graph.checkpoint();
        return exp(z);
      },
      "parted");
  const Report report = report_of(graph, parted(x));
  EXPECT_EQ(times_named(report, CellReason::checkpoint, "parted"), 1u) << report;
  EXPECT_EQ(report.nodes_in_cells, 4u);
}

// -------------------------------------------------------------------------------- what is refused

TEST_F(CellsDeclaredEdges, OfTooManyNodesAreRefused) {
  const auto chain = [](const Expression& x, unsigned length) {
    Expression y = x;
    for (unsigned i = 0; i < length; ++i) y = i % 2 == 0 ? tanh(y) : logistic(y);
    return y;
  };
  for (unsigned length : {64u, 65u}) {
    const auto program = [&](const GraphOptions& options, Notes& notes) {
      ComputationGraph graph(options);
      const Expression loss = squared_norm(cell(chain, "long")(word(graph, 1), length));
      notes.add("loss", loss.value());
      notes.add("row", graph.backward(loss).values(table, 1));
      notes.nodes_in_cells = graph.explain().nodes_in_cells;
      if (options.cells_after > 0 && length > 64) {
        EXPECT_EQ(times_named(graph.explain(), CellReason::too_large, "long"), 1u);
      }
    };
    expect_same_with_cells(program, {}, length <= 64);
  }
}

TEST_F(CellsDeclaredEdges, OfTooManyInputsAreRefused) {
  const auto join = [](const std::vector<Expression>& xs) { return tanh(concatenate(xs)); };
  for (const std::size_t inputs : {1023u, 1024u}) {
    ComputationGraph graph;
    const std::vector<Expression> xs(inputs, word(graph, 1));
    const Report report = report_of(graph, cell(join, "wide")(xs));
    EXPECT_EQ(report.cells.size(), inputs < 1024 ? 1u : 0u) << report;
    EXPECT_EQ(times_named(report, CellReason::too_large, "wide"), inputs < 1024 ? 0u : 1u);
  }
}

TEST_F(CellsDeclaredEdges, OfMinibatchesAreRefused) {
  ComputationGraph graph;
  const std::vector<unsigned> words{1, 2, 3};
  const auto all = cell([](const Expression& x) { return exp(tanh(x)); }, "all");
  const auto total = cell([](const Expression& x) { return exp(sum_batches(x)); }, "total");
  const auto rows = cell(
      [this](ComputationGraph& g, const std::vector<unsigned>& numbers) {
        return sqrt(square(lookup(g, table, numbers)));
      },
      "rows");
  all(word(graph, 1)).value();  // the same types with one element are a cell
  rows(graph, std::vector{1u}).value();
  const Expression x = rows(graph, words);
  const Report report = report_of(graph, total(all(x)));
  const Expression want = exp(sum_batches(exp(tanh(sqrt(square(lookup(graph, table, words)))))));
  EXPECT_EQ(as_vector(total(all(x)).value()), as_vector(want.value()));
  EXPECT_EQ(times_named(report, CellReason::minibatch, "all"), 1u) << report;
  EXPECT_EQ(times_named(report, CellReason::minibatch, "rows"), 1u) << report;
  ASSERT_EQ(report.cells.size(), 3u) << report;
  EXPECT_EQ(named(report, "rows")->cells, 1u);
  EXPECT_EQ(named(report, "all")->cells, 1u);
  EXPECT_EQ(named(report, "total")->cells, 1u);  // it reads several elements as one value
}

TEST_F(CellsDeclaredEdges, OfTooManyTypesAreRefused) {
  ComputationGraph graph;
  const auto pad = cell(
      [](const Expression& x, unsigned size) {
        return sum_elems(tanh(concatenate(std::vector<Expression>(size, x))));
      },
      "pad");
  std::vector<Expression> sums;
  const Expression x = word(graph, 1);
  for (unsigned i = 0; i < 300; ++i) sums.push_back(pad(x, 2 + i));
  Report report = report_of(graph, sum(sums));
  EXPECT_EQ(report.cells.size(), 256u);
  EXPECT_EQ(times_named(report, CellReason::too_many, "pad"), 44u) << report;
  report = report_of(graph, pad(x, 10));  // those that are there stay
  EXPECT_EQ(report.nodes_in_cells, 257 * 3u);
}

// ----------------------------------------------------------------------------------------- errors

TEST_F(CellsDeclaredEdges, FindTheGraphInAnyArgument) {
  ComputationGraph graph;
  const auto two = [](const Expression& x) { return exp(tanh(x)); };
  const Expression x = word(graph, 1), none;
  const auto first =
      cell([&](const std::vector<Expression>&, const Expression& y) { return two(y); });
  const auto nested = cell(
      [&](unsigned, const std::vector<std::vector<Expression>>& rows) { return two(rows[1][0]); });
  const auto pair = cell([&](const CellState& state) { return two(state.c); });
  const auto pointer =
      cell([&](ComputationGraph* g, int row) { return two(word(*g, static_cast<unsigned>(row))); });
  struct Layer {
    const CellsDeclared& test;
    Expression apply(ComputationGraph& g, float number) const {
      return exp(test.word(g, 2) * number);
    }
  };
  std::vector<Expression> all{first(std::vector<Expression>{}, x),
                              nested(3u, std::vector<std::vector<Expression>>{{}, {x}}),
                              pair(CellState{none, x}),
                              pointer(&graph, 3),
                              cell(&Layer::apply)(Layer{*this}, graph, 0.5f),
                              cell(two)(x)};
  std::vector<Expression> sums;
  for (const Expression& e : all) sums.push_back(sum_elems(e));
  const Report report = report_of(graph, sum(sums));
  std::uint64_t cells = 0;
  for (const Report::Cell& cell : report.cells) cells += cell.cells;
  EXPECT_EQ(cells, all.size()) << report;
}

TEST_F(CellsDeclaredEdges, SayWhatIsWrongWithTheirArguments) {
  const auto total = cell([](const std::vector<Expression>& xs) { return tanh(sum(xs)); });
  EXPECT_EQ(message_of<UsageError>([&] { total(std::vector<Expression>{}); }),
            "[cell] need an argument that knows its graph; got empty ones only");
  EXPECT_EQ(message_of<UsageError>([&] { total(std::vector<Expression>(2)); }),
            "[cell] need an argument that knows its graph; got empty ones only");
  Expression stale;
  {
    ComputationGraph graph;
    stale = word(graph, 1);
  }
  EXPECT_EQ(message_of<StateError>([&] { total(std::vector{stale}); }),
            "[cell] need an expression of a living graph; got one whose graph was cleared or "
            "destroyed");
}

}  // namespace
}  // namespace dynet_like::testing

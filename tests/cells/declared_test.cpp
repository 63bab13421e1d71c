// Declared cells: from the first call on, with the bits of the plain function.
#include "tests/cells/declared_cells.h"

namespace dynet_like::testing {
namespace {

// ------------------------------------------------------------------------------------- same bits

TEST_F(CellsDeclared, HaveTheBitsOfThePlainFunction) {
  const auto plain = [this](auto&&... arguments) { return node(arguments...); };
  for (bool inference : {false, true}) {
    for (unsigned threads : {1u, 3u}) {
      GraphOptions options;
      options.inference = inference;
      options.threads = threads;
      const auto declared = [&](const GraphOptions& with, Notes& notes) {
        train(*this, declared_node(), with, notes);
      };
      expect_same_with_cells(declared, options);
      Notes with, without;
      options.cells_after = kNoSearch;
      declared(options, with);
      train(*this, plain, options, without);
      EXPECT_TRUE(same(with, without));
      EXPECT_GT(with.nodes_in_cells, 0u);
      EXPECT_EQ(without.nodes_in_cells, 0u);
    }
  }
}

// Five types, whichever is there first.
TEST_F(CellsDeclared, OfTheSameOpsButOtherLinksDiffer) {
  const auto variant = cell([](unsigned number, const Expression& x, const Expression& y) {
    const Expression a = tanh(x), b = logistic(number == 1 || number == 4 ? a
                                               : number == 2              ? y
                                                                          : x);
    return number == 3 ? cmult(b, a) : cmult(number == 4 ? x : a, b);
  });
  for (unsigned first = 0; first < 5; ++first) {
    const auto program = [&](const GraphOptions& options, Notes& notes) {
      Minibatch batch(options);
      for (unsigned i = 0; i < 10; ++i) {
        ComputationGraph& graph = batch.new_graph();
        const Expression x = word(graph, i), y = word(graph, i + 3);
        batch.add_loss(squared_norm(variant((first + i * 3) % 5, x, y)));
        batch.forward();
      }
      notes.add("loss", std::vector<float>{batch.forward()});
      const Gradients& gradients = batch.backward();
      for (unsigned row = 0; row < 10; ++row) notes.add("row", gradients.values(table, row));
      notes.nodes_in_cells = batch.explain().nodes_in_cells;
      if (options.cells_after == kNoSearch) {
        EXPECT_EQ(batch.explain().cells.size(), 5u);
      }
    };
    expect_same_with_cells(program);
    Notes notes;
    program(no_search(), notes);
  }
}

TEST_F(CellsDeclared, HaveTheSameBitsWithChecksAndInDoublePrecision) {
  GraphOptions options;
  options.verify_batching = options.detect_anomaly = true;
  expect_same_with_cells([this](const GraphOptions& with,
                                Notes& notes) { train(*this, declared_node(), with, notes); },
                         options);
  ParameterCollection doubles(1, DType::f64);
  const Parameter w = doubles.add_parameters({kSize, kSize});
  const auto step = cell([&](const Expression& x) { return tanh(parameter(*x.pg, w) * x); });
  options.dtype = DType::f64;
  expect_same_with_cells(
      [&](const GraphOptions& with, Notes& notes) {
        ComputationGraph graph(with);
        Expression x = input(graph, Dim({kSize}), std::vector<float>(kSize, 0.25f));
        for (unsigned i = 0; i < 5; ++i) x = step(x);
        notes.add("x", x.value());
        notes.add("w", graph.backward(sum_elems(x)).values(w));
        notes.nodes_in_cells = graph.explain().nodes_in_cells;
      },
      options);
}

// ------------------------------------------------------------------------- when there are cells

TEST_F(CellsDeclared, AreThereInOneGraphAtTheFirstForward) {
  ComputationGraph graph;
  const State state = tree(declared_node(), graph, 1, 7);  // two leaves and their parent
  const Report report = report_of(graph, squared_norm(state.h));
  ASSERT_EQ(report.cells.size(), 2u) << report;
  for (const Report::Cell& cell : report.cells) EXPECT_EQ(cell.name, "tree node");
  EXPECT_EQ(report.cells[0].cells + report.cells[1].cells, 3u);
  EXPECT_EQ(report.nodes - report.nodes_in_cells, 2u);
  graph.backward(squared_norm(state.h));
  EXPECT_EQ(graph.explain().cells[0].whole + graph.explain().cells[1].whole, 3u) << graph.explain();
}

// Their names and what was refused are in the text, too.
TEST_F(CellsDeclared, AreNamedInReports) {
  ComputationGraph graph;
  const auto step =
      cell([this](ComputationGraph& g, const Expression& x) { return this->step(g, x, x); },
           "my \"step\"\n");
  const auto alone = cell([](const Expression& x) { return exp(x); }, "too little");
  const Report report = report_of(graph, alone(step(graph, word(graph, 1))));
  ASSERT_EQ(report.cells.size(), 1u);
  EXPECT_EQ(report.cells[0].name, "my \"step\"\n");
  EXPECT_EQ(report.cells[0].ops, kStep);
  EXPECT_EQ(times_named(report, CellReason::single, "too little"), 1u);
  const std::string text = text_of(report);
  EXPECT_TRUE(contains(text, "of 6 nodes")) << text;
  EXPECT_TRUE(contains(text, "my ")) << text;
  EXPECT_FALSE(contains(text, "step\"\n")) << text;  // names break no line
  EXPECT_TRUE(contains(text, "not folded: 1 times \"too little\" exp: the declared cell has one"))
      << text;
  graph.clear();
  EXPECT_TRUE(graph.explain().not_folded.empty());
}

TEST_F(CellsDeclared, OfOneTypeHaveAllTheirNames) {
  ComputationGraph graph;
  const auto f = [this](ComputationGraph& g, const Expression& x) { return step(g, x, x); };
  const Expression x = cell(f, "one")(graph, word(graph, 1));
  const Report report = report_of(graph, cell(f, "two")(graph, x));
  ASSERT_EQ(report.cells.size(), 1u) << report;
  EXPECT_EQ(report.cells[0].name, "one, two");
  EXPECT_EQ(report.cells[0].cells, 2u);
  EXPECT_EQ(cell(f)(graph, x).dim(), x.dim());
}

TEST_F(CellsDeclared, AreOffWhereFoundOnesAre) {
  GraphOptions off[3];
  off[0].cells_after = 0;
  off[1].policy = batching::Policy::none;
  off[2].memory_limit = 1 << 20;
  for (const GraphOptions& options : off) {
    Minibatch batch(options);
    batch.add_loss(squared_norm(tree(declared_node(), batch.new_graph(), 3, 5).h));
    batch.forward();
    EXPECT_EQ(batch.explain().nodes_in_cells, 0u);
    EXPECT_NE(batch.explain().no_cells, "");
  }
}

TEST_F(CellsDeclared, StayWhenLearningIsRepeated) {
  const auto step = cell(
      [this](ComputationGraph& g, const Expression& x) { return this->step(g, x, x); }, "step");
  GraphOptions options;
  options.cells_after = 32;
  Minibatch batch(options);
  std::size_t found_types = 0;
  for (unsigned round = 0; round < 6; ++round) {
    const Report report = run(batch, [&](ComputationGraph& graph, unsigned sample) {
      Expression x = word(graph, sample), y = x;
      for (unsigned i = 0; i < 3; ++i) x = step(graph, x);
      for (unsigned i = 0; i < 4; ++i) {  // other programs every round
        y = round % 2 == 0 ? tanh(affine(graph, u, y)) : logistic(affine(graph, v, exp(tanh(y))));
      }
      return squared_norm(x + y);
    });
    const Report::Cell* cell = named(report, "step");
    ASSERT_NE(cell, nullptr) << report;
    EXPECT_EQ(cell->cells, 3 * kSamples);
    EXPECT_EQ(cell->whole, 3 * kSamples);
    EXPECT_EQ(cell->batches, 3u);
    found_types += report.cells.size() - 1;
  }
  EXPECT_GT(found_types, 6u);
}

// The same steps without being declared are found, and are cells of the same type.
TEST_F(CellsDeclared, ShareTheirTypeWithFoundOnes) {
  const auto step = cell(
      [this](ComputationGraph& g, const Expression& x) { return this->step(g, x, x); }, "step");
  GraphOptions options;
  options.cells_after = 32;
  Minibatch batch(options);
  const Report report = run(batch, [&](ComputationGraph& graph, unsigned sample) {
    Expression x = word(graph, sample);
    for (unsigned i = 0; i < length(sample); ++i) x = this->step(graph, x, x);
    return squared_norm(step(graph, x));
  });
  ASSERT_NE(find_cell(report), nullptr) << report;
  EXPECT_EQ(find_cell(report)->name, "step");
  EXPECT_EQ(find_cell(report)->cells, all_steps() + kSamples) << report;
}

// Learning would make one cell of a step and what follows it: found cells end where declared begin.
TEST_F(CellsDeclared, AreNotStraddledByFoundOnes) {
  const auto middle = cell([](const Expression& x) { return exp(logistic(x)); }, "middle");
  const auto program = [&](bool declared) {
    return Program([&, declared](ComputationGraph& graph, unsigned sample) {
      Expression x = word(graph, sample);
      for (unsigned i = 0; i < length(sample); ++i) {
        const Expression y = tanh(affine(graph, u, x));
        x = sqrt(square(declared ? middle(y) : exp(logistic(y))));
      }
      return squared_norm(x);
    });
  };
  GraphOptions options;
  options.cells_after = 32;
  Minibatch batch(options);
  Report report = run(batch, program(true));
  ASSERT_NE(named(report, "middle"), nullptr);
  EXPECT_EQ(named(report, "middle")->cells, all_steps());
  for (const Report::Cell& cell : report.cells) {
    if (cell.name.empty()) {
      EXPECT_FALSE(contains(cell.ops, "exp")) << report;
      EXPECT_FALSE(contains(cell.ops, "logistic")) << report;
    }
  }
  EXPECT_GT(report.cells.size(), 1u) << report;
  EXPECT_TRUE(report.not_folded.empty()) << report;
  // What was learned from a program without the declaration does not straddle it either.
  report = after(program(false), program(true));
  ASSERT_NE(named(report, "middle"), nullptr) << report;
  EXPECT_EQ(named(report, "middle")->cells, all_steps()) << report;
  bool is_told = false;
  for (const Report::NotFolded& other : report.not_folded) {
    is_told |= other.reason == words_of(CellReason::declared) && other.name.empty();
  }
  EXPECT_TRUE(is_told) << report;
}

// What may lie between nodes of found cells may be in declared ones.
TEST_F(CellsDeclared, HaveNodesThatAreLooseElsewhere) {
  const auto with_output = cell(
      [this](ComputationGraph& graph, const Expression& x) {
        const Expression y = step(graph, x, x);
        return CellState{y, tanh(affine(graph, v, exp(y)))};
      },
      "with output");
  const auto program = [&](bool declared) {
    return Program([&, declared](ComputationGraph& graph, unsigned sample) {
      Expression x = word(graph, sample);
      std::vector<Expression> outputs;
      for (unsigned i = 0; i < 4; ++i) {
        if (declared) {
          const CellState state = with_output(graph, x);
          x = state.h;
          outputs.push_back(state.c);
        } else {
          x = step(graph, x, x);
          outputs.push_back(tanh(affine(graph, v, exp(x))));
        }
      }
      return squared_norm(sum(outputs));
    });
  };
  const Report report = after(program(false), program(true));
  ASSERT_NE(named(report, "with output"), nullptr) << report;
  EXPECT_EQ(named(report, "with output")->cells, 4 * kSamples) << report;
}

}  // namespace
}  // namespace dynet_like::testing

// What explain() tells of cells: counts that add up, names, and when there are none.
#include "tests/cells/cell_programs.h"
#include "tests/support/random_cells.h"

namespace dynet_like::testing {
namespace {

void expect_sums(const Report& report, bool all_run_backward) {
  std::uint64_t nodes = 0, forward_calls = 0, all_forward_calls = 0;
  for (const Report::Cell& cell : report.cells) {
    nodes += cell.cells * cell.size;
    forward_calls += cell.forward_calls;
    EXPECT_GE(cell.size, 2u);
    EXPECT_LE(cell.batches, cell.cells);
    EXPECT_LE(cell.forward_calls, cell.batches * cell.size);
    EXPECT_EQ(cell.forward_calls == cell.batches * cell.size, cell.shared_calls.empty());
    EXPECT_LE(cell.whole + cell.by_node, cell.cells);
    if (all_run_backward) {
      EXPECT_EQ(cell.whole + cell.by_node, cell.cells);
    }
  }
  for (const Report::Type& type : report.types) all_forward_calls += type.forward_calls;
  EXPECT_EQ(nodes, report.nodes_in_cells);
  EXPECT_LE(nodes, report.nodes);
  EXPECT_LE(forward_calls, all_forward_calls);
}

TEST_F(ExplainCells, CountsAddUp) {
  for (unsigned threads : {1u, 3u}) {
    GraphOptions options;
    options.threads = threads;
    const Report report = after(chain(), chain(), options);
    expect_sums(report, true);
    const Report::Cell* cell = find_cell(report);
    ASSERT_NE(cell, nullptr) << report;
    EXPECT_EQ(cell->size, 6u);
    EXPECT_EQ(cell->cells, all_steps());
    // As many steps as the longest sample of a lane has; a GPU has one lane.
    const unsigned lanes = default_device()->is_cpu() ? threads : 1;
    EXPECT_EQ(cell->batches, lanes * 6u);
    EXPECT_EQ(cell->whole, all_steps());
    EXPECT_EQ(cell->by_node, 0u);
    EXPECT_TRUE(report.not_folded.empty()) << report;
    EXPECT_EQ(report.no_cells, "");
  }
}

TEST_F(ExplainCells, CountsOfRandomProgramsAddUp) {
  const RandomModel random_model;
  std::uint64_t whole = 0, by_node = 0;
  for (unsigned program = 0; program < 40; ++program) {
    GraphOptions options;
    options.cells_after = 100;
    options.threads = 1 + program % 3;
    Random random(99);
    options.random = &random;
    Minibatch batch(options);
    RandomCellsOptions cells;
    cells.noise = program % 2 == 1;
    for (unsigned round = 0; round < 3; ++round) {
      const Report report = run(
          batch,
          [&](ComputationGraph& graph, unsigned sample) {
            return record_random_cells(graph, random_model, program,
                                       1000 * program + 10 * round + sample, cells)
                .loss;
          },
          8);
      expect_sums(report, false);
      for (const Report::Cell& cell : report.cells) {
        whole += cell.whole;
        by_node += cell.by_node;
      }
    }
  }
  EXPECT_GT(whole, 0u);
  EXPECT_GT(by_node, 0u);
}

TEST_F(ExplainCells, NamesWhatRepeatsAndWhatSharesCalls) {
  const Program gates = [&](ComputationGraph& graph, unsigned sample) {
    Expression h = word(graph, sample), c = word(graph, sample + 1);
    for (unsigned i = 0; i < length(sample); ++i) {
      const Expression a = logistic(affine(graph, u, h)), b = logistic(affine(graph, v, h));
      c = cmult(a, c) + cmult(b, h);
      h = tanh(c);
    }
    return squared_norm(h);
  };
  const Report report = after(gates, gates);
  const Report::Cell* cell = find_cell(report, "2 (affine_transform logistic) 2 cmult add tanh");
  ASSERT_NE(cell, nullptr) << report;
  EXPECT_EQ(cell->size, 8u);
  EXPECT_TRUE(contains(cell->shared_calls, "2 logistic")) << cell->shared_calls;
  EXPECT_TRUE(contains(cell->shared_calls, "2 cmult")) << cell->shared_calls;
  EXPECT_TRUE(contains(text_of(report), cell->ops + "; in one call: " + cell->shared_calls + "\n"));
}

TEST_F(ExplainCells, ShortensLongNames) {
  const Program gates = [&](ComputationGraph& graph, unsigned sample) {
    Expression x = word(graph, sample);
    for (unsigned i = 0; i < length(sample); ++i) {
      x = affine(graph, u, x);
      for (unsigned k = 0; k < 12; ++k) x = tanh(x);
      for (char op : std::string("stalstlsatslatsaltsl")) {  // hardly anything follows itself
        x = op == 's' ? square(x) : op == 't' ? tanh(x) : op == 'l' ? logistic(x) : abs(x);
      }
    }
    return squared_norm(x);
  };
  const Report report = after(gates, gates);
  ASSERT_FALSE(report.cells.empty());
  const std::string& ops = report.cells[0].ops;
  EXPECT_EQ(report.cells[0].size, 33u) << report;
  EXPECT_EQ(ops.find("affine_transform 12 tanh square"), 0u) << ops;
  EXPECT_EQ(ops.substr(ops.size() - 4), " ...") << ops;
}

TEST_F(ExplainCells, PrintsALineForEachTypeAndASum) {
  const Report report = after(chain(), chain());
  const std::string text = text_of(report);
  const Report::Cell* cell = find_cell(report);
  ASSERT_NE(cell, nullptr) << text;
  std::istringstream line(text.substr(text.find("of 6 nodes") + 10));
  std::uint64_t nodes = 0, batches = 0, cells_of_type = 0, forward_calls = 0, whole = 0,
                by_node = 1;
  line >> nodes >> batches >> cells_of_type >> forward_calls >> whole >> by_node;
  EXPECT_EQ(nodes, 6 * cell->cells) << text;
  EXPECT_EQ(batches, cell->batches) << text;
  EXPECT_EQ(cells_of_type, cell->cells) << text;
  EXPECT_EQ(forward_calls, cell->forward_calls) << text;
  EXPECT_EQ(whole, cell->whole) << text;
  EXPECT_EQ(by_node, 0u) << text;
  EXPECT_TRUE(contains(text, kStep)) << text;
  std::uint64_t cells = 0;
  for (const Report::Cell& cell : report.cells) cells += cell.cells;
  EXPECT_TRUE(contains(text, std::to_string(report.nodes_in_cells) + " of the nodes ran in " +
                                 std::to_string(cells) + " cells, each planned as one node: " +
                                 std::to_string(report.nodes_in_cells - cells) +
                                 " nodes less to plan\n"))
      << text;
}

TEST_F(ExplainCells, PrintsNothingWhereNothingRepeats) {
  Minibatch batch;
  const Report report = run(batch, pair(), 2);
  EXPECT_TRUE(report.cells.empty());
  EXPECT_EQ(report.nodes_in_cells, 0u);
  for (const std::string& text : {text_of(report), text_of({})}) {
    EXPECT_FALSE(contains(text, "cell")) << text;
    EXPECT_FALSE(contains(text, "not folded")) << text;
  }
}

TEST_F(ExplainCells, ForgetsCountsWhenCleared) {
  GraphOptions options;
  options.cells_after = 50;
  Minibatch batch(options);
  run(batch, chain());
  const Report first = run(batch, chain()), second = run(batch, chain());
  ASSERT_NE(find_cell(first), nullptr);
  ASSERT_NE(find_cell(second), nullptr);
  EXPECT_EQ(find_cell(first)->cells, find_cell(second)->cells);
  batch.clear();
  EXPECT_TRUE(batch.explain().cells.empty());
}

TEST_F(ExplainCells, SaysWhichOptionForbidsThem) {
  const auto told = [&](const std::function<void(GraphOptions&)>& choose) {
    GraphOptions options;
    options.cells_after = 50;
    choose(options);
    Minibatch batch(options);
    record(batch, chain());
    batch.forward();
    if (!options.inference) batch.backward();
    const Report report = batch.explain();
    EXPECT_EQ(contains(report.no_cells, "none"), report.cells.empty()) << report;
    if (!report.no_cells.empty()) {
      EXPECT_TRUE(contains(text_of(report), "cells: " + report.no_cells + "\n")) << report;
    }
    for (const Report::Cell& cell : report.cells) {
      EXPECT_EQ(cell.whole == 0, options.inference || !report.no_cells.empty()) << report;
    }
    return report.no_cells;
  };
  EXPECT_EQ(told([](GraphOptions&) {}), "");
  EXPECT_EQ(told([](GraphOptions& o) { o.cells_after = 0; }), "none, for cells_after is 0");
  EXPECT_EQ(told([](GraphOptions& o) { o.policy = batching::Policy::none; }),
            "none, for the policy is none");
  EXPECT_EQ(told([](GraphOptions& o) { o.memory_limit = 1 << 30; }),
            "none, for there is a memory_limit");
  EXPECT_EQ(told([](GraphOptions& o) { o.verify_batching = true; }), "");
  EXPECT_EQ(told([](GraphOptions& o) { o.detect_anomaly = true; }),
            "backward node by node, for detect_anomaly is set");
  EXPECT_EQ(told([](GraphOptions& o) { o.detect_anomaly = o.inference = true; }), "");
}

}  // namespace
}  // namespace dynet_like::testing

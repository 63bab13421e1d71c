// Cells of programs that come later: after one that has none, after one that has others, in turn.
#include "tests/cells/cell_programs.h"
#include "tests/support/random_graph.h"
#include "tests/support/with_cells.h"
#include "dynet_like/exec/cell_reasons.h"

namespace dynet_like::testing {
namespace {

class CellsAgain : public ExplainCells {
 protected:
  CellsAgain() { options.cells_after = 50; }

  /// Minibatch dimensions: nothing of it can be a cell.
  Program by_hand() const {
    return [this](ComputationGraph& graph, unsigned sample) {
      const std::vector<unsigned> words = {sample % 10, 2, 3};
      Expression x = lookup(graph, table, words);
      for (unsigned i = 0; i < 4; ++i) x = step(graph, x, x);
      return sum_batches(squared_norm(x));
    };
  }
  /// A chain with weights of its own.
  Program other_chain() const {
    return [this](ComputationGraph& graph, unsigned sample) {
      Expression x = word(graph, sample);
      for (unsigned i = 0; i < length(sample); ++i) x = tanh(affine(graph, w, logistic(x)));
      return squared_norm(x);
    };
  }
  /// In how many of these rounds there were cells, the last ones.
  static unsigned rounds_with_cells(Minibatch& batch, const Program& program, unsigned rounds,
                                    unsigned samples = kSamples) {
    unsigned with_cells = 0;
    for (unsigned round = 0; round < rounds; ++round) {
      with_cells = run(batch, program, samples).nodes_in_cells > 0 ? with_cells + 1 : 0;
    }
    return with_cells;
  }

  GraphOptions options;
  Parameter w = model.add_parameters({kSize, kSize});
};

TEST_F(CellsAgain, AfterAProgramThatHasNone) {
  Minibatch batch(options);
  EXPECT_EQ(rounds_with_cells(batch, by_hand(), 5, 3), 0u);
  EXPECT_GT(rounds_with_cells(batch, chain(), 100), 10u);
}

TEST_F(CellsAgain, AfterAProgramThatHasOthers) {
  Minibatch batch(options);
  EXPECT_GT(rounds_with_cells(batch, chain(), 20), 10u);
  EXPECT_GT(rounds_with_cells(batch, other_chain(), 400), 10u);
}

// A parameter that nobody else has any more makes the types be forgotten, and their numbers may
// stand for others then.
TEST_F(CellsAgain, WhenTypesWereForgotten) {
  Minibatch batch(options);
  {
    ParameterCollection others;
    const Parameter other = others.add_parameters({kSize});
    run(batch, [&](ComputationGraph& graph, unsigned sample) {
      return chain()(graph, sample) + squared_norm(parameter(graph, other));
    });
    EXPECT_GT(run(batch, chain()).nodes_in_cells, 0u);
  }
  EXPECT_EQ(run(batch, chain(), 1).nodes_in_cells, 0u);  // too few nodes to learn from
  EXPECT_GT(run(batch, chain()).nodes_in_cells, 0u);
}

// What is found for one does not displace what was found for the other.
TEST_F(CellsAgain, OfTwoProgramsInTurn) {
  Minibatch batch(options);
  run(batch, chain());
  unsigned rounds = 0;
  for (; rounds < 600 && run(batch, other_chain()).nodes_in_cells == 0; ++rounds)
    run(batch, chain());
  EXPECT_LT(rounds, 600u);
  for (unsigned round = 0; round < 100; ++round) {
    EXPECT_GT(run(batch, chain()).nodes_in_cells, 0u) << round;
    EXPECT_GT(run(batch, other_chain()).nodes_in_cells, 0u) << round;
  }
}

// The nodes of the last search are counted: one sample less, and it would be seen.
// Reasons are told of the last search, and follow from how many samples it saw.
TEST_F(CellsAgain, SeldomForTheSameNodes) {
  Minibatch batch(options);
  const auto refused = [&](unsigned samples) {
    return times(run(batch, by_hand(), samples), CellReason::minibatch, "affine_transform");
  };
  unsigned searches = 0;
  std::uint64_t last = 0;
  for (unsigned round = 0; round < 300; ++round) {
    const std::uint64_t told = refused(kSamples - round % 2);
    searches += told != last;
    last = told;
  }
  EXPECT_GT(last, 0u);
  EXPECT_LE(searches, 4u);
}

TEST_F(CellsAgain, BitsOfProgramsInTurn) {
  expect_same_with_cells([&](const GraphOptions& its_options, Notes& notes) {
    Minibatch batch(its_options);
    for (unsigned round = 0; round < 180; ++round) {
      const Program programs[] = {by_hand(), chain(), other_chain()};
      batch.clear();
      record(batch, programs[round / 60 % 3], round < 60 ? 3 : kSamples);
      const std::vector<float> loss = {batch.forward()};
      const Gradients& gradients = batch.backward();
      notes.nodes_in_cells += batch.explain().nodes_in_cells;
      if (round % 10 != 9) continue;
      notes.add("loss", loss);
      for (const Parameter& p : {u, v, w, bias}) notes.add("gradient", gradients.values(p));
    }
  });
}

}  // namespace
}  // namespace dynet_like::testing

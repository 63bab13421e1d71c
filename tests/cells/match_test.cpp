// What looks like a cell but is none, or another one: links, items, checkpoints, nodes between.
#include "tests/support/cell_chains.h"

namespace dynet_like::testing {
namespace {

Expression product(ComputationGraph& graph, const RandomModel& model, const Expression& x) {
  return parameter(graph, model.w44) * x;
}

TEST(CellsMatch, OtherPartsOfAMemberAreOtherLinks) {
  expect_same_chains([](Step& step) {
    const Expression wide = tanh(parameter(step.graph, step.model.w74) * step.state);
    const unsigned at = step.variant % 4;
    return logistic(pick_range(wide, at, at + 4));
  });
}

TEST(CellsMatch, BlockedGradientsAreOtherLinks) {
  expect_same_chains([](Step& step) {
    const Expression a = product(step.graph, step.model, step.state);
    const Expression b = tanh(step.variant % 2 == 0 ? a : nobackprop(a));
    return logistic(b) + step.before;
  });
}

TEST(CellsMatch, EqualInputsAreOneOrTwo) {
  expect_same_chains([](Step& step) {
    const Expression other = step.variant % 2 == 0 ? step.before : step.state;
    const Expression a = tanh(product(step.graph, step.model, step.state) + other);
    return cmult(a, step.variant % 3 == 0 ? other : step.state);
  });
}

TEST(CellsMatch, SeveralItemsAreNoCell) {
  expect_same_chains([](Step& step) {
    const bool several = step.variant % 2 == 1;
    const Expression x = step.input(Dim({4}, several ? 3 : 1));
    const Expression a = product(step.graph, step.model, several ? x : step.state);
    const Expression b = logistic(tanh(a + (step.variant == 2 ? step.input(Dim({4}, 3)) : x)));
    return sum_batches(b) * 0.3f;
  });
}

// Without an input that has several: they come from a lookup.
TEST(CellsMatch, MembersWithSeveralItemsAreNoCell) {
  expect_same_chains([](Step& step) {
    const bool several = step.variant % 2 == 1;
    const std::vector<unsigned> rows = {2, 5, 1};
    const Expression x = several ? lookup(step.graph, step.model.table4, rows)
                                 : lookup(step.graph, step.model.table4, step.variant);
    const Expression h = cmult(logistic(product(step.graph, step.model, step.state)), tanh(x));
    return several ? sum_batches(h) * 0.3f : h;
  });
}

TEST(CellsMatch, CheckpointsInTheMiddleEndACell) {
  expect_same_chains([](Step& step) {
    const Expression a = product(step.graph, step.model, step.state);
    if (step.variant == 0) return cmult(logistic(tanh(a)), step.state);
    step.graph.checkpoint();
    for (unsigned attempt = 0; attempt < step.variant % 3; ++attempt) {
      const Expression h = cmult(logistic(tanh(a)), step.state);
      if (step.variant % 2 == 0) step.notes.add("tried", h.value());
      step.graph.revert();
      step.graph.checkpoint();
    }
    // Some checkpoints stay, so that the rest is beyond them.
    if (step.variant > 3) step.graph.revert();
    return cmult(logistic(tanh(a)), step.state);
  });
}

// A checkpoint in the middle, all of it computed at once, and half of it taken back.
TEST(CellsMatch, HalvesOfCellsAreRevertedAlone) {
  expect_same_with_cells([](const GraphOptions& options, Notes& notes) {
    const RandomModel model;
    ComputationGraph graph(options);
    for (unsigned round = 0; round < 6; ++round) {
      graph.clear();
      Expression state = tanh(lookup(graph, model.table4, round));
      std::vector<Expression> all{state};
      for (unsigned i = 0; i < 12; ++i) {
        const bool turns_back = round > 2 && i % 4 == 3;
        const Expression before = state;
        const Expression a = product(graph, model, state), b = tanh(a);
        if (turns_back) {
          graph.checkpoint();
          notes.add("tried", cmult(logistic(b), before).value());
          notes.nodes_in_cells += graph.explain().nodes_in_cells;
          graph.revert();
        }
        state = cmult(logistic(b), before);
        all.insert(all.end(), {a, b, state});
      }
      notes.add("parameters", model.all(graph.backward(sum_elems(state))));
      for (const Expression& e : all) notes.add("gradient", e.gradient());
      for (const Expression& e : all) notes.add("value", e.value());
      notes.nodes_in_cells += graph.explain().nodes_in_cells;
    }
  });
}

// Readers of the first member that nothing needs until the cell has run, beside a value that the
// cell reads from between its members.
TEST(CellsMatch, ReadersBetweenThatRunLater) {
  expect_same_chains([](Step& step) {
    const Expression a = product(step.graph, step.model, step.state);
    const Expression x = step.variant == 0 ? step.fixed : step.input(Dim({4}));
    if (step.variant > 1) step.losses.push_back(sum_elems(logistic(a)));
    const Expression h = logistic(tanh(a + x));
    if (step.variant > 0) step.notes.add("state", h.value());
    return h;
  });
}

// In a cell that was known without them: one that the cell reads, and one that reads the cell. If
// both are there, there is no place for the cell.
TEST(CellsMatch, NodesBeforeAndBehind) {
  ChainOptions chains;
  chains.learning = 3;
  expect_same_chains(
      [](Step& step) {
        const auto weights = [&](unsigned i) {
          return parameter(step.graph, step.model.weights44[i]);
        };
        // No cell has squares, since some of them have several items.
        const auto loose = [](const Expression& x) { return square(x); };
        const std::vector<unsigned> rows = {2, 5, 1};
        const Expression several = lookup(step.graph, step.model.table4, rows);
        step.losses.push_back(sum_elems(sum_batches(loose(several))));
        Expression x = step.before;
        const Expression a = tanh(weights(0) * step.state);
        if (step.variant == 1 || step.variant == 3) x = loose(x);
        const Expression reader = step.variant > 1 ? loose(a) : step.before;
        if (step.variant == 4) x = loose(x);
        const Expression b = weights(1) * (logistic(a) + x);
        const Expression h = cmult(b, a);
        step.losses.push_back(sum_elems(reader));
        return h;
      },
      {}, chains);
}

// Nodes of a type that stands everywhere lie between the members: read by the cell, readers of it,
// both, and neither.
TEST(CellsMatch, LooseNodesBetween) {
  ChainOptions chains;
  chains.learning = 0;
  chains.steps = 20;
  expect_same_chains(
      [](Step& step) {
        const auto loose = [](const Expression& x) { return tanh(x); };
        const unsigned kind = step.variant;
        Expression x = step.before;
        const Expression a = product(step.graph, step.model, step.state);
        if (kind == 1 || kind == 3) x = loose(x);
        if (kind == 2 || kind == 3) step.losses.push_back(sum_elems(loose(a)));
        const Expression b = parameter(step.graph, step.model.weights44[0]) * logistic(a);
        if (kind == 4) step.losses.push_back(sum_elems(cmult(loose(b), loose(a))));
        if (kind == 5) x = loose(loose(x));
        const Expression c = parameter(step.graph, step.model.weights44[1]) * (b + x);
        return kind == 6 ? loose(c) : c;
      },
      {}, chains);
}

// Two cells that are recorded member by member in turn, of which the second may read the first.
TEST(CellsMatch, CellsBetweenTheMembersOfOthers) {
  ChainOptions chains;
  chains.learning = 3;
  expect_same_chains(
      [](Step& step) {
        const auto weights = [&](unsigned i) {
          return parameter(step.graph, step.model.weights44[i]);
        };
        const Expression a = weights(0) * step.state;
        if (step.variant == 0) {
          const Expression b = weights(1) * logistic(tanh(tanh(a)));
          const Expression c = weights(2) * step.before, d = weights(3) * square(tanh(tanh(c)));
          return cmult(tanh(b), d);
        }
        const Expression c = weights(2) * (step.variant % 2 == 0 ? a : step.before);
        const Expression b = weights(1) * logistic(tanh(tanh(a)));
        const Expression d = weights(3) * square(tanh(tanh(c)));
        return cmult(tanh(b), d);
      },
      {}, chains);
}

}  // namespace
}  // namespace dynet_like::testing

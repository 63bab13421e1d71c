// One executor for models in turn, and after all types have got other numbers.
#include <memory>

#include "tests/support/cell_chains.h"

namespace dynet_like::testing {
namespace {

// Different models: sequences of other types, with other parameters.
void run_model(Minibatch& batch, unsigned model_number, const RandomModel& model, unsigned round,
               Notes& notes) {
  batch.clear();
  std::vector<Expression> states;
  for (unsigned sample = 0; sample < 6; ++sample) {
    ComputationGraph& graph = batch.new_graph();
    Expression h = lookup(graph, model.table4, (round + sample) % 9);
    for (unsigned i = 0; i < 8; ++i) {
      const Expression a = parameter(graph, model.weights44[model_number]) * h;
      if (model_number == 0) h = cmult(tanh(a), logistic(a)) + h;
      if (model_number == 1) h = logistic(tanh(a) + h);
      if (model_number == 2) h = tanh(cmult(cmult(logistic(a), h), rectify(a)));
      states.push_back(h);
    }
    batch.add_loss(sum_elems(h));
  }
  notes.add("loss", std::vector<float>{batch.forward()});
  notes.add("parameters", model.all(batch.backward()));
  for (const Expression& e : states) notes.add("gradient", e.gradient());
  notes.nodes_in_cells += batch.explain().nodes_in_cells;
}

TEST(CellsModels, InTurn) {
  expect_same_with_cells([](const GraphOptions& options, Notes& notes) {
    const RandomModel models[] = {RandomModel(), RandomModel(), RandomModel()};
    Minibatch batch(options);
    for (unsigned round = 0; round < 18; ++round) {
      const unsigned m = round < 6 ? round / 2 : round % 3;
      run_model(batch, m, models[m], round, notes);
    }
  });
}

// Whose parameters end with them.
TEST(CellsModels, OneAfterTheOther) {
  expect_same_with_cells([](const GraphOptions& options, Notes& notes) {
    Minibatch batch(options);
    for (unsigned round = 0; round < 6; ++round) {
      const RandomModel model;
      for (unsigned i = 0; i < 3; ++i) run_model(batch, round % 3, model, i, notes);
      batch.clear();
    }
  });
}

// A model that is gone makes the table of types begin anew: what was learnt speaks of other types.
TEST(CellsModels, AfterTheTypesHaveGotOtherNumbers) {
  GraphOptions options;
  options.cells_after = 32;
  auto model = std::make_unique<RandomModel>();
  Minibatch batch(options), fresh(options);
  Notes before, after;
  for (unsigned round = 0; round < 3; ++round) run_model(batch, 0, *model, round, before);
  EXPECT_GT(before.nodes_in_cells, 0u);
  batch.clear();
  model.reset();
  batch.clear();
  // Types that the old numbers stood for do not come back in the old order.
  const RandomModel other;
  for (unsigned round = 0; round < 4; ++round) {
    Notes mine, wanted;
    run_model(batch, 2 - round % 2, other, round, mine);
    run_model(fresh, 2 - round % 2, other, round, wanted);
    EXPECT_TRUE(same(wanted, mine));
    EXPECT_EQ(mine.nodes_in_cells, wanted.nodes_in_cells);
    after.nodes_in_cells += mine.nodes_in_cells;
  }
  EXPECT_GT(after.nodes_in_cells, 0u);
}

// What one revert has taken away of the cells that a failed run has left, another must not miss.
TEST(CellsModels, RevertsAfterARunThatFailed) {
  GraphOptions options;
  options.cells_after = 32;
  const RandomModel model;
  Minibatch batch(options);
  Notes notes;
  for (unsigned round = 0; round < 3; ++round) run_model(batch, 0, model, round, notes);
  EXPECT_GT(notes.nodes_in_cells, 0u);
  batch.clear();
  const auto grow = [&](Expression h) {
    for (unsigned i = 0; i < 4; ++i) {
      const Expression a = parameter(*h.pg, model.weights44[0]) * h;
      h = cmult(tanh(a), logistic(a)) + h;
    }
    return h;
  };
  ComputationGraph &first = batch.new_graph(), &second = batch.new_graph();
  const Expression h1 = grow(lookup(first, model.table4, 1));
  const Expression h2 = grow(lookup(second, model.table4, 2));
  batch.compute({h1, h2});
  second.checkpoint();
  unsigned row = 99;  // there is no such row
  const Expression bad = grow(lookup(second, model.table4, &row));
  EXPECT_THROW(bad.value(), UsageError);
  first.checkpoint();
  second.revert();
  const Expression tried = grow(grow(h1));
  tried.value();
  first.revert();
  const auto grow_otherwise = [&](const Expression& h) { return grow(square(square(square(h)))); };
  const Expression end1 = grow_otherwise(h1), end2 = grow_otherwise(h2);
  batch.add_loss(sum_elems(end1) + sum_elems(end1));
  batch.add_loss(sum_elems(end2));
  const float loss = batch.forward();
  const std::vector<float> gradients = model.all(batch.backward());

  Minibatch plain;
  const Expression p1 = grow_otherwise(grow(lookup(plain.new_graph(), model.table4, 1)));
  const Expression p2 = grow_otherwise(grow(lookup(plain.new_graph(), model.table4, 2)));
  plain.add_loss(sum_elems(p1) + sum_elems(p1));
  plain.add_loss(sum_elems(p2));
  EXPECT_EQ(plain.forward(), loss);
  EXPECT_EQ(model.all(plain.backward()), gradients);
}

}  // namespace
}  // namespace dynet_like::testing

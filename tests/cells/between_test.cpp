// Nodes between those of a cell that run in other calls: sums keep their order, none is lost.
#include "tests/support/random_graph.h"
#include "tests/support/with_cells.h"

namespace dynet_like::testing {
namespace {

// What is recorded between the first and the second member, which may be told of the first.
using Between = std::function<Expression(ComputationGraph& graph, const Expression& state,
                                         const Expression& first)>;

struct Cell {
  Expression between, out;
};

// A state and an input are read by the first member and by a later one.
Cell record(ComputationGraph& graph, const RandomModel& model, const Expression& state,
            const Between& between, const Expression& added) {
  const Expression first = parameter(graph, model.w44) * state;
  Cell cell;
  if (between) cell.between = between(graph, state, first);
  const Expression x = added.pg != nullptr ? added : cell.between;
  const Expression second = tanh(first + x);
  cell.out = cmult(second, state);
  return cell;
}

Expression input_of(ComputationGraph& graph, unsigned seed) {
  std::vector<float> values(4);
  Random random(seed);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  return input(graph, {4}, values);
}

// Chains of cells with nothing between: so that cells are known.
void learn(Minibatch& batch, const RandomModel& model) {
  for (unsigned round = 0; round < 2; ++round) {
    batch.clear();
    for (unsigned sample = 0; sample < 6; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      const Expression x = input_of(graph, sample);
      Expression state = tanh(lookup(graph, model.table4, sample));
      for (unsigned i = 0; i < 6; ++i) state = record(graph, model, state, {}, x).out;
      batch.add_loss(sum_elems(state));
    }
    batch.forward();
    batch.backward();
  }
  batch.clear();
}

enum class When { before, later };

// Asks for what is between before the rest, or only when the rest has run. Before that there may be
// a reader of the first member that nothing needs until later.
void expect_same(const Between& between, When when, bool is_added, bool has_late_reader = false) {
  // What reads the cell later and what the cell reads give no order: it is no cell then.
  const bool has_no_order = has_late_reader && is_added;
  const auto run = [&](const GraphOptions& options, Notes& notes) {
    const RandomModel model;
    Minibatch batch(options);
    learn(batch, model);
    for (unsigned sample = 0; sample < 9; ++sample) {
      ComputationGraph& graph = batch.new_graph();
      const Expression x = input_of(graph, sample);
      Expression state = tanh(lookup(graph, model.table4, sample));
      std::vector<Expression> all{state}, losses;
      for (unsigned i = 0; i < 3; ++i) {
        const Between asked = [&](ComputationGraph& on, const Expression& h, const Expression& a) {
          if (has_late_reader) losses.push_back(sum_elems(logistic(a)));
          const Expression e = between(on, h, a);
          if (when == When::before) e.value();
          return e;
        };
        const Cell cell = record(graph, model, state, asked, is_added ? Expression() : x);
        state = cell.out;
        all.insert(all.end(), {cell.between, state});
        losses.push_back(sum_elems(cell.between));
      }
      state.value();
      losses.push_back(sum_elems(state));
      batch.add_loss(sum(losses));
      batch.forward();
      notes.add("parameters of " + std::to_string(sample), model.all(batch.backward()));
      for (const Expression& e : all) {
        notes.add("gradient", e.gradient());
        notes.add("value", e.value());
      }
      const std::uint64_t in_cells = batch.explain().nodes_in_cells;
      if (has_no_order) {
        EXPECT_EQ(in_cells, 0u);
      }
      notes.nodes_in_cells += in_cells;
    }
  };
  expect_same_with_cells(run, {}, !has_no_order);
}

Expression reads_port(ComputationGraph&, const Expression& state, const Expression&) {
  return logistic(state);
}
Expression reads_member(ComputationGraph&, const Expression&, const Expression& first) {
  return logistic(first);
}

TEST(CellsBetween, ReadersOfPortsThatRanBefore) { expect_same(reads_port, When::before, false); }
TEST(CellsBetween, ReadersOfPortsThatRunLater) { expect_same(reads_port, When::later, false); }
TEST(CellsBetween, ReadersOfMembersThatRanBefore) {
  expect_same(reads_member, When::before, false);
}
TEST(CellsBetween, ReadersOfMembersThatRunLater) { expect_same(reads_member, When::later, false); }
TEST(CellsBetween, ProducersOfPortsThatRanBefore) { expect_same(reads_port, When::before, true); }
TEST(CellsBetween, ReadersThatRunLaterBeforeProducersThatRan) {
  expect_same(reads_port, When::before, true, true);
}
TEST(CellsBetween, ReadersThatRunLaterBeforeReadersThatRan) {
  expect_same(reads_port, When::before, false, true);
}

// Chains whose cells each have an input of their own, recorded between the members, and a reader of
// the first member that nothing needs until later.
void expect_same_in_graph(bool has_late_reader) {
  expect_same_with_cells(
      [&](const GraphOptions& options, Notes& notes) {
        const RandomModel model;
        ComputationGraph graph(options);
        for (unsigned round = 0; round < 5; ++round) {
          graph.clear();
          Expression state = tanh(lookup(graph, model.table4, round));
          std::vector<Expression> all{state}, losses;
          for (unsigned i = 0; i < 8; ++i) {
            const Between between = [&](ComputationGraph& on, const Expression&,
                                        const Expression& a) {
              if (has_late_reader) losses.push_back(sum_elems(logistic(a)));
              return input_of(on, 10 * round + i);
            };
            const Cell cell = record(graph, model, state, between, Expression());
            state = cell.out;
            all.insert(all.end(), {cell.between, state});
          }
          losses.push_back(sum_elems(state));
          notes.add("state", state.value());
          const Expression loss = sum(losses);
          for (bool full : {false, true}) {
            notes.add("parameters", model.all(graph.backward(loss, full)));
            for (const Expression& e : all) notes.add("gradient", e.gradient());
          }
          notes.nodes_in_cells += graph.explain().nodes_in_cells;
        }
      },
      {}, !has_late_reader);
}

TEST(CellsBetween, InputsBetweenHaveGradients) { expect_same_in_graph(false); }
TEST(CellsBetween, InputsBetweenAndReadersThatRunLater) { expect_same_in_graph(true); }

}  // namespace
}  // namespace dynet_like::testing

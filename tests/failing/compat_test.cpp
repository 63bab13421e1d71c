// Allocations of a program for DyNet fail: after clear() and reset_gradient() the same
// graph, model and trainer go on with the same bits.
#include "tests/failing/failing_allocations.h"

#include <dynet/dynet.h>
#include <dynet/expr.h>
#include <dynet/lstm.h>
#include <dynet/training.h>

#include "tests/support/device_memory.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;
using dynet_like::values_of;
using dynet_like::failing::fail_allocations;
using dynet_like::failing::Outcome;

struct Program {
  Program() {
    reset_rng(5);
    model.emplace();
    w = model->add_parameters({2, 4});
    words = model->add_lookup_parameters(6, {3});
    lstm = std::make_unique<VanillaLSTMBuilder>(1, 3, 4, *model);
    trainer = std::make_unique<AdamTrainer>(*model);
  }

  Expression loss(ComputationGraph& graph) {
    lstm->set_dropout(0.3f);
    lstm->new_graph(graph);
    lstm->start_new_sequence();
    for (const unsigned word : {1u, 4u, 2u}) lstm->add_input(lookup(graph, words, word));
    return cross_entropy(parameter(graph, w) * lstm->back(), 1u);
  }

  // The loss, and the gradient of w.
  std::vector<float> run(ComputationGraph& graph) {
    const Expression e = loss(graph);
    std::vector<float> numbers = {as_scalar(graph.forward(e))};
    graph.backward(e);
    const std::vector<float> gradient = as_vector(graph.get_gradient(parameter(graph, w)));
    numbers.insert(numbers.end(), gradient.begin(), gradient.end());
    return numbers;
  }

  std::vector<float> parameters() { return values_of(*model); }

  std::optional<ParameterCollection> model;
  Parameter w;
  LookupParameter words;
  std::unique_ptr<VanillaLSTMBuilder> lstm;
  std::unique_ptr<AdamTrainer> trainer;
  ComputationGraph graph;
};

// From here dropout draws the same numbers each time.
std::vector<float> known_run(Program& program, ComputationGraph& graph) {
  program.model->reset_gradient();
  reset_rng(9);
  graph.clear();
  return program.run(graph);
}

TEST(CompatFailingAllocations, LeaveTheGraphAsGoodAsNew) {
  std::vector<float> expected, before, after;
  {
    Program untouched;
    expected = known_run(untouched, untouched.graph);
    before = untouched.parameters();
    untouched.trainer->update();
    after = untouched.parameters();
  }
  bool updated = false;
  const auto exercise = [&](Program& program) {
    updated = false;
    reset_rng(9);
    program.graph.clear();
    program.run(program.graph);
    program.trainer->update();
    updated = true;
    ComputationGraph other;
    program.run(other);
  };
  const std::size_t allocations =
      fail_allocations([] { return std::make_unique<Program>(); }, exercise,
                       [&](Program& program, const Outcome&) {
                         EXPECT_EQ(program.parameters(), updated ? after : before);
                         if (updated) return;
                         EXPECT_EQ(known_run(program, program.graph), expected);
                         program.trainer->update();
                         EXPECT_EQ(program.parameters(), after);
                         program.model->reset_gradient();
                         program.trainer->restart();
                       });
  EXPECT_GT(allocations, 50u);
}

// Without sparse updates an update of EGTrainer hides the gradients of tables for a while.
TEST(CompatFailingAllocations, LeaveTheGradientsOfTables) {
  struct World {
    World() {
      trainer.sparse_updates_enabled = false;
      graph.backward(sum_elems(parameter(graph, w)) + sum_elems(lookup(graph, table, 1u)));
    }

    ParameterCollection model{0.125f};
    Parameter w = model.add_parameters({2}, ParameterInitConst(0.25f));
    LookupParameter table = model.add_lookup_parameters(3, {2}, ParameterInitConst(0.25f));
    EGTrainer trainer{model};
    ComputationGraph graph;
  };
  const std::vector<float> before(8, 0.25f);
  std::vector<float> after(8, 0.25f * 0.875f);
  after[0] = after[1] = 0.5f * 0.875f;
  fail_allocations([] { return std::make_unique<World>(); },
                   [](World& world) { world.trainer.update(); },
                   [&](World& world, const Outcome& outcome) {
                     if (outcome.threw) {
                       EXPECT_EQ(values_of(world.model), before);
                       EXPECT_EQ(world.model.gradient_l2_norm(), 2);
                       world.trainer.update();
                     }
                     EXPECT_EQ(values_of(world.model), after);
                     EXPECT_EQ(world.model.gradient_l2_norm(), 0);
                   });
}

}  // namespace

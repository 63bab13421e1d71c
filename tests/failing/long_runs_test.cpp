// What a step of a long run allocates: as much as the one after few steps, however many there were.
#include "tests/failing/failing_allocations.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

/// How often memory is asked for in a step.
template <class Step>
std::size_t allocations_of(const Step& step) {
  failing::faults.first = 0;  // none fails
  failing::faults.count = 0;
  failing::faults.armed = true;
  step();
  failing::faults.armed = false;
  return failing::faults.count;
}

/// The most that one of a few steps asks for, from this one on.
template <class Step>
std::size_t most_allocations(const Step& step, unsigned first, unsigned steps) {
  std::size_t most = 0;
  for (unsigned i = first; i < first + steps; ++i) {
    most = std::max(most, allocations_of([&] { step(i); }));
  }
  return most;
}

// A model of its own in every step.
template <class Run>
void expect_same_with_new_models(const Run& run) {
  const auto step = [&](unsigned i) {
    ParameterCollection model(1 + i % 3);
    const nn::LSTM lstm(model, 4, 4);
    const nn::Linear linear(model, 4, 4);
    const auto twice = cell([&](const Expression& x) { return linear(linear(x)); });
    run([&](ComputationGraph& graph) {
      return squared_norm(twice(lstm(ones(graph, {4, 1 + i % 2})).last().h));
    });
  };
  for (unsigned i = 0; i < 1000; ++i) step(i);
  const std::size_t after_1000 = most_allocations(step, 1000, 6);
  for (unsigned i = 1006; i < 3000; ++i) step(i);
  EXPECT_EQ(most_allocations(step, 3000, 6), after_1000);
}

TEST(LongRuns, OfNewModelsInAMinibatchStayAsTheyWere) {
  Minibatch batch;
  expect_same_with_new_models([&](const auto& loss_of) {
    batch.add_loss(loss_of(batch.new_graph()));
    batch.forward();
    batch.backward();
    batch.clear();
  });
}

TEST(LongRuns, OfNewModelsInAGraphStayAsTheyWere) {
  ComputationGraph graph;
  expect_same_with_new_models([&](const auto& loss_of) {
    graph.backward(loss_of(graph));
    graph.clear();
  });
}

// One model, and new shapes and numbers in every step: tables grow up to a bound, and begin anew.
TEST(LongRuns, OfNewShapesStayAsTheyWere) {
  ParameterCollection model(1);
  const Parameter w = model.add_parameters({8, 8});
  Minibatch batch;
  std::size_t most_entries = 0, forgets = 0, before = 0;
  const auto step = [&](unsigned i) {
    ComputationGraph& graph = batch.new_graph();
    const Expression shaped = tanh(zeros(graph, {1 + i % 100, 1 + i / 100}) + 1.0f);
    const Expression scaled = parameter(graph, w) * (1 + 1e-4f * static_cast<float>(i));
    batch.add_loss(squared_norm(scaled) + sum_elems(shaped));
    batch.forward();
    batch.backward();
    const std::size_t entries = graph.record().tape().types().size();
    most_entries = std::max(most_entries, entries);
    forgets += entries < before ? 1 : 0;
    before = entries;
    batch.clear();
  };
  for (unsigned i = 0; i < 1000; ++i) step(i);
  const std::size_t after_1000 = most_allocations(step, 1000, 20);
  for (unsigned i = 1020; i < 6000; ++i) step(i);
  EXPECT_LE(most_allocations(step, 6000, 20), after_1000 + 10);  // a list that grows now and then
  EXPECT_LT(most_entries, 17000u);
  EXPECT_GE(forgets, 1u);
}

}  // namespace
}  // namespace dynet_like

// Allocations of a minibatch of recursions and cells fail: after `clear` the same objects give the
// same bits.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "tests/failing/failing_allocations.h"

namespace dynet_like {
namespace {

constexpr unsigned kSize = 4;

struct World {
  explicit World(bool its_inference) : inference(its_inference) {
    GraphOptions options;
    options.inference = inference;
    batch = std::make_unique<Minibatch>(options);
  }

  std::vector<float> run() {
    batch->clear();
    std::vector<Expression> states;
    for (unsigned n = 1; n < 4; ++n) {
      ComputationGraph& graph = batch->new_graph();
      std::vector<Expression> columns;
      for (unsigned i = 0; i < n; ++i) columns.push_back(lookup(graph, words, i));
      states.push_back(along(Structure::sequence(n), concatenate_cols(columns)).all());
      std::vector<Expression> before;
      for (const Expression& column : columns) before = {step(column, before)};
      states.push_back(before[0]);
      const Expression loss = squared_norm(states[states.size() - 2]) + sum_elems(before[0]);
      inference ? batch->add_output(loss) : batch->add_loss(loss);
    }
    batch->forward();
    std::vector<float> numbers;
    const auto add = [&](const std::vector<float>& more) {
      numbers.insert(numbers.end(), more.begin(), more.end());
    };
    for (const Expression& all : states) add(as_vector(all.value()));
    if (!inference) {
      const Gradients& gradients = batch->backward();
      add(gradients.values(w));
      add(gradients.values(b));
    }
    return numbers;
  }

  ParameterCollection model{1};
  LookupParameter words = model.add_lookup_parameters(5, {kSize});
  Parameter w = model.add_parameters({kSize, kSize}), b = model.add_parameters({kSize});
  Expression vertex(const Expression& x, const std::vector<Expression>& before) const {
    ComputationGraph& graph = *x.pg;
    Expression sum = x + parameter(graph, b);
    for (const Expression& h : before) sum = sum + parameter(graph, w) * h;
    return tanh(sum);
  }
  CellFunction<Expression(const Expression&, const std::vector<Expression>&)> step{
      std::bind_front(&World::vertex, this), "step"};
  Recursion<Expression> along = recursion<Expression>(std::bind_front(&World::vertex, this));
  bool inference;
  std::unique_ptr<Minibatch> batch;
};

class FailingRecursions : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Passes, FailingRecursions, ::testing::Bool());

TEST_P(FailingRecursions, LeaveAMinibatchAsGoodAsNew) {
  const std::vector<float> expected = World(GetParam()).run();
  const std::size_t allocations = failing::fail_allocations(
      [] { return std::make_unique<World>(GetParam()); }, [](World& world) { world.run(); },
      [&](World& world, const failing::Outcome&) { EXPECT_EQ(world.run(), expected); });
  EXPECT_GT(allocations, 100u);
}

}  // namespace
}  // namespace dynet_like

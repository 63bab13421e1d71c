// Allocations of a pass with cells fail: the pass can be repeated.
#include "tests/failing/failing_allocations.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like {
namespace {

constexpr unsigned kHidden = 6;

struct Setting {
  unsigned threads = 1;
  bool is_used = false;  ///< the minibatch has run before
};

/// A minibatch that is recorded.
struct World {
  explicit World(const Setting& its_setting) : setting(its_setting) {
    for (unsigned i = 0; i < 3; ++i) {
      weights.push_back(model.add_parameters({kHidden, kHidden}));
      biases.push_back(model.add_parameters({kHidden}));
    }
    wide = model.add_parameters({2 * kHidden, kHidden});
    GraphOptions options;
    options.threads = setting.threads;
    options.cells_after = 16;
    batch.emplace(options);
    record();
    if (!setting.is_used) return;
    run();
    record();
  }

  // Two gates with one weight, and a parameter as the first state.
  Expression step(const Expression& x, const Expression& h) const {
    ComputationGraph& graph = *x.pg;
    const auto gate = [&](unsigned of_bias, unsigned of_weights) {
      return affine_transform(
          {parameter(graph, biases[of_bias]), parameter(graph, weights[of_weights]), h});
    };
    const Expression a = gate(0, 0), b = gate(1, 1), c = gate(1, 0);
    const Expression left = parameter(graph, weights[2]) * x, right = parameter(graph, wide) * x;
    return tanh(cmult(a, logistic(b)) + cmult(c, left) + pick_range(right, 3, 3 + kHidden));
  }
  void record() {
    batch->clear();
    states.clear();
    for (unsigned sample = 0; sample < 12; ++sample) {
      ComputationGraph& graph = batch->new_graph();
      Expression h =
          sample % 2 == 0 ? lookup(graph, words, sample % 9) : parameter(graph, biases[2]);
      for (unsigned i = 0; i < 2 + sample % 3; ++i) {
        const Expression x = lookup(graph, words, (sample + i) % 9);
        h = step(x, h);
        states.push_back(h);
      }
      batch->add_loss(squared_norm(h));
    }
  }

  std::vector<double> run() {
    std::vector<double> numbers{static_cast<double>(batch->forward())};
    const auto add = [&](const Tensor& tensor) {
      for (std::size_t i = 0; i < tensor.d.size(); ++i) numbers.push_back(tensor.at(i));
    };
    for (const Expression& state : states) add(state.value());
    const Gradients& gradients = batch->backward();
    for (const Expression& state : states) add(state.gradient());
    for (const auto& storage : model.storages()) {
      for (float number : gradients.all_values(*storage)) {
        numbers.push_back(static_cast<double>(number));
      }
    }
    return numbers;
  }

  Setting setting;
  ParameterCollection model{3};
  LookupParameter words = model.add_lookup_parameters(9, {kHidden});
  std::vector<Parameter> weights, biases;
  Parameter wide;
  std::optional<Minibatch> batch;
  std::vector<Expression> states;
};

TEST(CellsFailing, APassCanBeRepeated) {
  for (const Setting& setting : {Setting{1, true}, Setting{2, true}, Setting{2, false}}) {
    SCOPED_TRACE(std::to_string(setting.threads) + (setting.is_used ? " used" : ""));
    World untouched(setting);
    const std::vector<double> expected = untouched.run();
    EXPECT_GT(untouched.batch->explain().nodes_in_cells, 0u) << untouched.batch->explain();
    const std::size_t allocations = failing::fail_allocations(
        [&] { return std::make_unique<World>(setting); }, [](World& world) { world.run(); },
        [&](World& world, const failing::Outcome&) {
          EXPECT_TRUE(world.run() == expected);
          EXPECT_TRUE(world.run() == expected);
          world.record();
          EXPECT_TRUE(world.run() == expected);
        });
    EXPECT_GT(allocations, 50u);
  }
}

}  // namespace
}  // namespace dynet_like

// What runs when a value is asked for: what it needs, and nothing else.
#include <utility>

#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class NeededNodesTest : public ::testing::Test {
 protected:
  /// How many nodes have run since the graph was made.
  std::uint64_t nodes_run() const { return graph_.explain().nodes; }

  ParameterCollection model_{1};
  Parameter weights_ = model_.add_parameters({4, 4});
  ComputationGraph graph_;
  Expression x_ = input(graph_, {4}, {1, 2, 3, 4});
  Expression y_ = tanh(parameter(graph_, weights_) * x_);
};

TEST_F(NeededNodesTest, WhatOnlyRevertedNodesReadDoesNotRun) {
  const Expression unread = exp(y_);
  graph_.checkpoint();
  sum_elems(unread);
  graph_.revert();
  square(y_).value();
  EXPECT_EQ(nodes_run(), 3u);
}

TEST_F(NeededNodesTest, AClearedGraphBeginsAnew) {
  graph_.checkpoint();
  exp(y_);
  graph_.revert();
  y_.value();
  graph_.clear();
  const Expression x = input(graph_, {4}, {1, 2, 3, 4});
  exp(x);
  tanh(x).value();
  EXPECT_EQ(nodes_run(), 1u);
}

// A sample of random nodes, of which it is known what each needs.
class RandomSample {
 public:
  RandomSample(ComputationGraph& graph, Random& random) : random_(random) {
    for (unsigned i = 0; i < 2; ++i) keep(input(graph, {4}, {1, 2, 3, 4}), {}, false);
    for (unsigned nodes = 1 + random_.below(12); nodes > 0; --nodes) add();
  }

  std::size_t size() const { return all_.size(); }
  /// Asks for the value of that node; returns how many nodes have to run.
  std::uint64_t ask(std::size_t node) {
    Recorded& asked = all_[node];
    if (std::exchange(asked.has_value, true)) return 0;
    std::uint64_t nodes = asked.runs;
    for (const std::size_t each : asked.needs) nodes += ask(each);
    return nodes;
  }
  const Expression& operator[](std::size_t node) const { return all_[node].expression; }

 private:
  struct Recorded {
    Expression expression;
    std::vector<std::size_t> needs;
    bool runs;
    bool has_value = false;
  };

  void keep(const Expression& expression, std::vector<std::size_t> needs, bool runs = true) {
    all_.push_back({expression, std::move(needs), runs});
  }
  std::size_t any() { return random_.below(static_cast<unsigned>(all_.size())); }
  void add() {
    const std::size_t i = any(), j = any();
    const Expression x = all_[i].expression, y = all_[j].expression;
    switch (random_.below(5)) {
      case 0:
        return keep(tanh(x), {i});
      case 1:
        if (x.dim() != y.dim()) return keep(square(x), {i});
        return keep(cmult(x, y), {i, j});
      case 2:  // a view, which is no node
        return keep(pick_range(x, x.dim().rows() / 2, x.dim().rows()), {i}, false);
      default:
        return keep(sigmoid(x), {i});
    }
  }

  Random& random_;
  std::vector<Recorded> all_;
};

// Whatever is asked for, first or later, and of however many samples at once.
TEST(NeededNodesRandom, RunOnce) {
  Random random(1);
  for (unsigned round = 0; round < 400; ++round) {
    Minibatch batch;
    std::vector<RandomSample> samples;
    for (unsigned count = 1 + random.below(3); count > 0; --count) {
      samples.emplace_back(batch.new_graph(), random);
    }
    std::uint64_t expected = 0;
    for (unsigned times = 1 + random.below(3); times > 0; --times) {
      std::vector<Expression> targets;
      for (unsigned count = 1 + random.below(4); count > 0; --count) {
        RandomSample& sample = samples[random.below(static_cast<unsigned>(samples.size()))];
        const std::size_t node = random.below(static_cast<unsigned>(sample.size()));
        expected += sample.ask(node);
        targets.push_back(sample[node]);
      }
      batch.compute(targets);
      ASSERT_EQ(batch.explain().nodes, expected) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace dynet_like

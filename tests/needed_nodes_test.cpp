// What runs when a value is asked for: what it needs, and nothing else.
#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"

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

TEST_F(NeededNodesTest, AllRunIfAllAreRead) {
  sum_elems(cmult(y_, y_)).value();
  EXPECT_EQ(nodes_run(), 4u);
}

TEST_F(NeededNodesTest, WhatNobodyAskedForDoesNotRun) {
  const Expression unread = exp(y_);
  const Expression z = square(y_);
  z.value();
  EXPECT_EQ(nodes_run(), 3u);
  unread.value();
  EXPECT_EQ(nodes_run(), 4u);
}

TEST_F(NeededNodesTest, PartsThatNobodyReadsNeedNothing) {
  const Expression unread = pick_range(exp(y_), 0, 2);
  square(y_).value();
  EXPECT_EQ(nodes_run(), 3u);
  unread.value();
  EXPECT_EQ(nodes_run(), 4u);
}

TEST_F(NeededNodesTest, PartsThatAreReadNeedTheWhole) {
  square(pick_range(exp(y_), 1, 3)).value();
  EXPECT_EQ(nodes_run(), 4u);
}

TEST_F(NeededNodesTest, PartsThatAreAskedForNeedTheWhole) {
  pick_range(exp(y_), 1, 3).value();
  EXPECT_EQ(nodes_run(), 3u);
}

TEST_F(NeededNodesTest, WhatOnlyRevertedNodesReadDoesNotRun) {
  const Expression unread = exp(y_);
  graph_.checkpoint();
  sum_elems(unread);
  graph_.revert();
  square(y_).value();
  EXPECT_EQ(nodes_run(), 3u);
}

TEST_F(NeededNodesTest, OnlyWhatIsNewRunsLater) {
  y_.value();
  EXPECT_EQ(nodes_run(), 2u);
  square(y_).value();
  EXPECT_EQ(nodes_run(), 3u);
}

TEST_F(NeededNodesTest, WhatOneOfManySamplesDoesNotNeedDoesNotRun) {
  Minibatch batch;
  for (int sample = 0; sample < 4; ++sample) {
    ComputationGraph& graph = batch.new_graph();
    const Expression x = input(graph, {4}, {1, 2, 3, 4});
    const Expression y = tanh(parameter(graph, weights_) * x);
    if (sample == 2) exp(y);
    batch.add_loss(sum_elems(y));
  }
  batch.forward();
  EXPECT_EQ(batch.explain().nodes, 12u);
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

}  // namespace
}  // namespace dynet_like

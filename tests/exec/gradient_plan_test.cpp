// What a backward pass decides before anything of it runs: who takes part, and how contributions
// are summed.
#include "dynet_like/exec/forward.h"
#include "dynet_like/exec/gradient_plan.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using detail::Arrival;
using Arrivals = std::vector<Arrival>;

class GradientPlanTest : public ::testing::Test {
 protected:
  GradientPlanTest() { run_.queue = queue_.get(); }

  // Runs forward, and plans for the gradient of this sum.
  const detail::GradientPlan& plan(const Expression& loss, bool full = false) {
    const detail::ValueRef root{0, loss.i};
    common_.tapes.push_back({&graph_.record().writer().tape(), {}, {}});
    run_.end_tape = 1;
    detail::NeededNodes needed(common_);
    needed.collect(std::span(&root, 1));
    forward_.run_shared(needed.shared());
    needed.resolve_aliases();
    forward_.run(needed.of_tapes(0, 1), {}, false);
    make_gradient_plan(run_, std::span(&root, 1), full, plan_);
    return plan_;
  }

  detail::NodeRef node_of(const Expression& e) const {
    return {0, graph_.record().tape().value(e.i).node};
  }
  bool takes_part(const Expression& e) const { return plan_.node(node_of(e)).active; }
  // To the gradient of a node, from the one that was recorded last to the first.
  Arrivals arrivals(const Expression& e) const {
    Arrivals all;
    const detail::Tape& tape = graph_.record().tape();
    for (auto edge = static_cast<std::uint32_t>(tape.edges().size()); edge-- > 0;) {
      const detail::NodeRef consumer{0, consumer_of(tape, edge)};
      const bool reads = tape.value(tape.edges()[edge]).node == node_of(e).node;
      if (reads && plan_.node(consumer).active) all.push_back(plan_.tapes[0].edges[edge].arrival);
    }
    return all;
  }

  ParameterCollection model_{1};
  Parameter weights_ = model_.add_parameters({4, 4});
  ComputationGraph graph_;
  detail::CommonState common_{GraphOptions{}};
  detail::RunState run_{common_};
  std::unique_ptr<detail::Queue> queue_ = common_.options.device->make_queue(nullptr);
  detail::Forward forward_{run_};
  detail::GradientPlan plan_;
  Expression x_ = input(graph_, {4}, {1, 2, 3, 4});
  Expression y_ = parameter(graph_, weights_) * x_;
};

TEST_F(GradientPlanTest, OneReaderWritesInPlace) {
  const Expression z = tanh(y_);
  plan(sum_elems(z));
  EXPECT_EQ(arrivals(y_), Arrivals{Arrival::written});
  EXPECT_EQ(arrivals(z), Arrivals{Arrival::written});
  EXPECT_TRUE(plan_.zeros.size() == 1 && plan_.ones.size() == 1);  // of the loss
}

TEST_F(GradientPlanTest, OneOfTwoReadersAddsToTheOthers) {
  plan(sum_elems(cmult(tanh(y_), exp(y_))));
  Arrivals both = arrivals(y_);
  std::sort(both.begin(), both.end());
  EXPECT_EQ(both, (Arrivals{Arrival::written, Arrival::added}));
}

// Batches run backward in this order.
TEST_F(GradientPlanTest, MoreReadersAreAddedFromTheLastToTheFirst) {
  const Expression a = tanh(y_), b = exp(a) + y_, c = cmult(b, y_);
  plan(sum_elems(c));
  EXPECT_EQ(arrivals(y_), (Arrivals{Arrival::written, Arrival::added, Arrival::added}));
}

// What was recorded last runs with what was recorded first, and backward after the one between.
TEST_F(GradientPlanTest, WhatDoesNotComeInThisOrderWaits) {
  const Expression first = tanh(y_), second = cmult(exp(first), y_), last = tanh(y_);
  plan(sum_elems(second + last));
  EXPECT_EQ(arrivals(y_), (Arrivals{Arrival::written, Arrival::added_slot, Arrival::added_slot}));
}

TEST_F(GradientPlanTest, OneOfTwoInABatchWaits) {
  plan(sum_elems(cmult(y_, y_)));
  EXPECT_EQ(arrivals(y_), (Arrivals{Arrival::written, Arrival::added_slot}));
}

// It has a contribution from every item.
TEST_F(GradientPlanTest, WhatIsStretchedToItemsWaits) {
  const Expression items = input(graph_, Dim({4}, 3), std::vector<float>(12, 0.5f));
  plan(sum_elems(sum_batches(cmult(y_, items))));
  EXPECT_EQ(arrivals(y_), Arrivals{Arrival::slot});
}

TEST_F(GradientPlanTest, PartsAreSummedBySelf) {
  const Expression first = tanh(pick_range(y_, 0, 2)), second = exp(pick_range(y_, 2, 4));
  plan(sum_elems(cmult(first, second)));
  EXPECT_EQ(arrivals(y_), (Arrivals{Arrival::written, Arrival::written}));
  EXPECT_EQ(plan_.zeros.size(), 1u);
}

TEST_F(GradientPlanTest, WhatNobodyReadsBeginsAsZeros) {
  plan(sum_elems(tanh(pick_range(y_, 1, 3))));
  EXPECT_EQ(arrivals(y_), Arrivals{Arrival::written});
  ASSERT_EQ(plan_.zeros.size(), 2u);
  EXPECT_EQ(plan_.zeros[1].count, 4u);
}

TEST_F(GradientPlanTest, OverlappingPartsAreAddedToZeros) {
  const Expression first = tanh(pick_range(y_, 0, 3)), second = exp(pick_range(y_, 1, 4));
  plan(sum_elems(cmult(first, second)));
  EXPECT_EQ(arrivals(y_), (Arrivals{Arrival::added_slot, Arrival::added_slot}));
  EXPECT_EQ(plan_.zeros.size(), 2u);
}

TEST_F(GradientPlanTest, InputsTakePartIfAllIsWanted) {
  plan(sum_elems(y_), true);
  EXPECT_TRUE(takes_part(x_));
  EXPECT_EQ(arrivals(x_), Arrivals{Arrival::written});
}

TEST_F(GradientPlanTest, OnlyWhatReachesALossTakesPart) {
  const Expression z = tanh(y_), constant = exp(x_), unread = square(y_);
  plan(sum_elems(cmult(z, constant)));
  EXPECT_TRUE(takes_part(y_) && takes_part(z));
  EXPECT_FALSE(takes_part(x_) || takes_part(constant) || takes_part(unread));
}

TEST_F(GradientPlanTest, PlacesDoNotOverlap) {
  std::vector<Expression> all{y_};
  for (int i = 0; i < 6; ++i) all.push_back(tanh(all.back()) + all[all.size() / 2]);
  plan(sum_elems(sum(all)));
  std::vector<std::size_t> begins{plan_.bytes};
  for (const auto& batch : plan_.batches) {
    if (batch.active > 0) begins.push_back(batch.gradients);
  }
  for (const auto& place : plan_.places) begins.push_back(place.at);
  std::sort(begins.begin(), begins.end());
  EXPECT_GT(begins.size(), 10u);
  for (std::size_t i = 1; i < begins.size(); ++i) {
    EXPECT_LE(begins[i - 1] + 4 * sizeof(float), begins[i]);
  }
}

// Batches that lie side by side have gradients side by side.
TEST_F(GradientPlanTest, GradientsLieAsValuesDo) {
  plan(sum_elems(tanh(exp(y_))));
  ASSERT_FALSE(plan_.stretches.empty());
  for (std::size_t b = 0; b < plan_.batches.size(); ++b) {
    const detail::Batch& batch = run_.batches[b];
    if (plan_.batches[b].active == 0) continue;
    const auto holds = [&](const detail::GradientPlan::Stretch& stretch) {
      return batch.out >= stretch.values && batch.out < stretch.values + stretch.bytes &&
             plan_.batches[b].gradients - stretch.gradients ==
                 static_cast<std::size_t>(batch.out - stretch.values);
    };
    EXPECT_EQ(std::ranges::count_if(plan_.stretches, holds), 1) << b;
  }
}

}  // namespace
}  // namespace dynet_like

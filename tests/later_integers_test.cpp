// Integers behind pointers: read when the graph runs, not when it is recorded.
#include <gtest/gtest.h>

#include <functional>

#include "dynet_like/dynet_like.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<unsigned>;

class LaterIntegersTest : public ::testing::Test {
 protected:
  LaterIntegersTest() {
    for (unsigned row = 0; row < 4; ++row) {
      table_.initialize(row, {static_cast<float>(row), static_cast<float>(10 * row)});
    }
  }

  ParameterCollection model_;
  LookupParameter table_ = model_.add_lookup_parameters(4, {2});
  ComputationGraph graph_;
  unsigned row_ = 0;
  Integers two_ = {0, 0};
  Expression x_ = input(graph_, Dim({3, 2}), Floats{1, 2, 3, 4, 5, 6});
};

TEST_F(LaterIntegersTest, AreThoseOfTheRun) {
  unsigned row = 0, last = 0;
  Integers rows = {0, 0};
  const Expression one = lookup(graph_, table_, &row);
  const Expression several = lookup(graph_, table_, &rows);
  const Expression constant = const_lookup(graph_, table_, &row);
  const Expression picked = pick(x_, &last, 1);
  const Expression selected = select_rows(x_, &rows);
  row = 3;
  rows = {2, 1};
  last = 1;
  EXPECT_EQ(as_vector(one.value()), (Floats{3, 30}));
  EXPECT_EQ(as_vector(several.value()), (Floats{2, 20, 1, 10}));
  EXPECT_EQ(several.dim(), Dim({2}, 2));
  EXPECT_EQ(as_vector(constant.value()), (Floats{3, 30}));
  EXPECT_EQ(as_vector(picked.value()), (Floats{4, 5, 6}));
  EXPECT_EQ(as_vector(selected.value()), (Floats{3, 2, 6, 5}));
}

TEST_F(LaterIntegersTest, AZeroIsNoPointer) {
  EXPECT_EQ(as_vector(select_rows(x_, {0}).value()), (Floats{1, 4}));
  EXPECT_EQ(as_vector(pick(x_, 0).value()), (Floats{1, 4}));
  EXPECT_EQ(as_vector(lookup(graph_, table_, 0).value()), (Floats{0, 0}));
  const Expression columns = reshape(x_, Dim({3}, 2));
  EXPECT_EQ(as_vector(pick_batch_elems(columns, {0}).value()), (Floats{1, 2, 3}));
}

// Backward and what is asked for later see the integers of the run; a new run reads them again.
TEST_F(LaterIntegersTest, StayUntilTheGraphRunsAnew) {
  unsigned row = 1;
  const Expression e = lookup(graph_, table_, &row);
  const Expression loss = sum_elems(e);
  EXPECT_EQ(as_scalar(loss.value()), 11);
  row = 2;
  EXPECT_EQ(as_vector(e.value()), (Floats{1, 10}));
  const Gradients& gradients = graph_.backward(loss);
  EXPECT_NE(gradients.find_rows(table_.get_storage())->find(table_.get_storage(), 1), nullptr);
  EXPECT_EQ(gradients.find_rows(table_.get_storage())->find(table_.get_storage(), 2), nullptr);
  graph_.invalidate();
  EXPECT_EQ(as_scalar(loss.value()), 22);
}

TEST_F(LaterIntegersTest, OfLossesAndMinibatches) {
  unsigned index = 0;
  Integers indices = {0, 0}, target = {0, 0};
  const Expression scores = pick(x_, 1, 1);
  const Expression columns = reshape(x_, Dim({3}, 2));
  const std::pair<Expression, std::function<Expression()>> pairs[] = {
      {pickneglogsoftmax(scores, &index), [&] { return pickneglogsoftmax(scores, 2); }},
      {pickneglogsoftmax(columns, &indices),
       [&] {
         return pickneglogsoftmax(columns, {2, 1});
       }},
      {hinge(scores, &index), [&] { return hinge(scores, 2); }},
      {hinge_dim(x_, &indices),
       [&] {
         return hinge_dim(x_, {2, 1});
       }},
      {sparsemax_loss(scores, &target),
       [&] {
         return sparsemax_loss(scores, {1, 2});
       }},
      {pick_batch_elem(columns, &row_), [&] { return pick_batch_elem(columns, 1); }},
      {pick_batch_elems(columns, &two_), [&] {
         return pick_batch_elems(columns, {1, 0});
       }}};
  index = 2;
  indices = {2, 1};
  target = {1, 2};
  row_ = 1;
  two_ = {1, 0};
  for (const auto& [later, now] : pairs)
    EXPECT_EQ(as_vector(later.value()), as_vector(now().value()));
}

// A parameter's element that is picked later is not computed once for all samples.
TEST(LaterIntegersInMinibatches, EverySampleHasItsOwn) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({3}, ParameterInitFromVector({1, 2, 4}));
  Minibatch batch;
  unsigned places[3] = {0, 0, 0};
  for (unsigned& place : places) {
    batch.add_loss(pick(parameter(batch.new_graph(), p), &place));
  }
  places[1] = 1;
  places[2] = 2;
  EXPECT_EQ(batch.forward(), 7);
  EXPECT_EQ(batch.backward().values(p), (Floats{1, 1, 1}));
}

TEST_F(LaterIntegersTest, WhatIsOutOfRangeIsRefusedThen) {
  unsigned row = 0;
  Integers rows = {0, 1};
  const Expression e = lookup(graph_, table_, &row);
  const Expression several = lookup(graph_, table_, &rows);
  row = 4;
  EXPECT_THROW(e.value(), UsageError);
  rows = {0, 1, 2};
  EXPECT_THROW(several.value(), UsageError);
  row = 3;
  rows = {3, 3};
  EXPECT_EQ(as_vector(e.value()), (Floats{3, 30}));
  EXPECT_EQ(as_vector(several.value()), (Floats{3, 30, 3, 30}));
}

}  // namespace
}  // namespace dynet_like

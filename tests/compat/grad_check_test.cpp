// <dynet/grad-check.h>: gradients against differences of values.
#include <dynet/expr.h>
#include <dynet/grad-check.h>
#include <gtest/gtest.h>

#include "tests/support/message_of.h"

namespace {

using namespace dynet;

std::string printed(ParameterCollection& model, Expression& loss, int verbosity, bool& good) {
  testing::internal::CaptureStderr();
  good = check_grad(model, loss, verbosity);
  return testing::internal::GetCapturedStderr();
}

struct CompatGradCheckTest : testing::Test {
  ParameterCollection model;
  Parameter w = model.add_parameters({2, 3}, ParameterInitFromVector({1, 2, 3, -1, 0.5f, 0}), "w");
  LookupParameter table = model.add_lookup_parameters(
      4, {3}, ParameterInitFromVector({1, 2, 3, 4, 5, 6, 0.1f, 0.2f, 0.3f, 7, 8, 9}), "t");
  ComputationGraph graph;
  bool good = false;
};

TEST_F(CompatGradCheckTest, AcceptsRightGradients) {
  Expression loss = pickneglogsoftmax(parameter(graph, w) * tanh(lookup(graph, table, 2u)), 1) +
                    squared_norm(parameter(graph, w));
  const std::vector<float> before = as_vector(*w.values());
  const float value = as_scalar(graph.forward(loss));
  EXPECT_EQ(printed(model, loss, 1, good), "");
  EXPECT_TRUE(good);
  EXPECT_EQ(as_vector(*w.values()), before);
  EXPECT_EQ(as_scalar(graph.get_value(loss)), value);
  EXPECT_TRUE(w.get_storage().has_grad());

  const std::string all = printed(model, loss, 2, good);
  EXPECT_TRUE(dynet_like::mentions(all, "/w element 5: slope"));
  EXPECT_TRUE(dynet_like::mentions(all, "/t row 2 element 2: slope"));
  EXPECT_FALSE(dynet_like::mentions(all, "/t row 1"));
  EXPECT_FALSE(dynet_like::mentions(all, "***"));
}

// Neighbours of 1500 are 0.00012 apart: a 20th of the difference that a step of 0.001 makes.
TEST_F(CompatGradCheckTest, RoundingOfLargeValuesIsNoError) {
  const Expression sum = sum_elems(parameter(graph, w)), far = input(graph, 1500.3f);
  Expression loss = sum * 1.25f + far, wrong = scale_gradient(sum, 1.1f) * 1.25f + far;
  EXPECT_TRUE(check_grad(model, loss));
  EXPECT_FALSE(check_grad(model, wrong, 0));
}

TEST_F(CompatGradCheckTest, FindsAWrongGradientOfAParameter) {
  Expression loss = sum_elems(scale_gradient(parameter(graph, w), 1.1f));
  const std::string wrong = printed(model, loss, 1, good);
  EXPECT_FALSE(good);
  EXPECT_TRUE(dynet_like::mentions(wrong, "*** /w element 0: slope "));
  EXPECT_TRUE(dynet_like::mentions(wrong, ", gradient 1.1\n"));
  EXPECT_EQ(printed(model, loss, 0, good), "");
  EXPECT_FALSE(good);
}

TEST_F(CompatGradCheckTest, FindsAWrongGradientOfARow) {
  Expression right = sum_elems(parameter(graph, w));
  Expression loss = right + squared_norm(flip_gradient(lookup(graph, table, 3u)));
  EXPECT_TRUE(check_grad(model, right));
  const std::string wrong = printed(model, loss, 1, good);
  EXPECT_FALSE(good);
  EXPECT_TRUE(dynet_like::mentions(wrong, "*** /t row 3 element 0: slope 1"));
  EXPECT_TRUE(dynet_like::mentions(wrong, ", gradient -14\n"));
  EXPECT_FALSE(dynet_like::mentions(wrong, "/w"));
}

TEST_F(CompatGradCheckTest, TakesTheSumOfAMinibatch) {
  const Expression rows = lookup(graph, table, std::vector<unsigned>{2, 0, 2});
  Expression loss = squared_norm(parameter(graph, w) * rows);
  EXPECT_EQ(loss.dim(), Dim({1}, 3));
  EXPECT_EQ(printed(model, loss, 1, good), "");
  EXPECT_TRUE(good);
}

}  // namespace

// <dynet/dynet.h>: graphs with DyNet's names.
#include <dynet/dynet.h>
#include <dynet/expr.h>

#include "dynet_like/core/errors.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;

TEST(CompatGraphTest, GraphsAreCounted) {
  const int before = get_number_of_active_graphs();
  ComputationGraph a, b(false);
  EXPECT_EQ(get_number_of_active_graphs(), before + 2);
  EXPECT_EQ(get_current_graph_id(), b.get_id());
  EXPECT_NE(a.get_id(), b.get_id());
  const unsigned old = a.get_id();
  a.clear();
  EXPECT_NE(a.get_id(), old);
  EXPECT_EQ(get_current_graph_id(), a.get_id());
}

// forward reads pointers again and computes everything; incremental_forward does not. Tensors stay
// where they are.
TEST(CompatGraphTest, ForwardReadsPointersAgain) {
  ComputationGraph graph;
  float x = 2;
  const Expression y = square(input(graph, &x));
  const Tensor& first = graph.forward(y);
  EXPECT_EQ(as_scalar(first), 4);
  x = 3;
  EXPECT_EQ(as_scalar(graph.incremental_forward(y)), 4);
  EXPECT_EQ(as_scalar(graph.incremental_forward(y.i)), 4);
  EXPECT_EQ(as_scalar(graph.forward(y.i)), 9);
  EXPECT_EQ(as_scalar(first), 9);
  x = 4;
  graph.invalidate();
  EXPECT_EQ(as_scalar(graph.get_value(y)), 16);
  EXPECT_EQ(as_scalar(y.value()), 16);
}

TEST(CompatGraphTest, CheckpointsCanBeReturnedTo) {
  ComputationGraph graph;
  const Expression x = input(graph, 2.0f);
  graph.checkpoint();
  const Expression y = x + 1.0f;
  EXPECT_EQ(as_scalar(graph.forward(y)), 3);
  graph.revert();
  EXPECT_THROW(graph.forward(y), dynet_like::StateError);
  EXPECT_EQ(as_scalar(graph.forward(x * 5.0f)), 10);
}

TEST(CompatGraphTest, GradientsOfAllGraphsAddUp) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({2}, ParameterInitFromVector({3, 4}));
  for (int sample = 0; sample < 2; ++sample) {
    ComputationGraph graph;
    const Expression w = parameter(graph, p), x = input(graph, {2}, {1, 2});
    const Expression loss = dot_product(w, x);
    graph.forward(loss);
    graph.backward(loss);
    EXPECT_EQ(as_vector(x.gradient()), (std::vector<float>{0, 0}));
    graph.backward(loss.i, true);
    EXPECT_EQ(as_vector(graph.get_gradient(x)), (std::vector<float>{3, 4}));
    EXPECT_EQ(as_vector(graph.get_gradient(x.i)), (std::vector<float>{3, 4}));
    const float factor = static_cast<float>(2 * sample + 2);  // two passes in every graph
    EXPECT_EQ(as_vector(w.gradient()), (std::vector<float>{factor, 2 * factor}));
    EXPECT_EQ(as_vector(*p.gradients()), (std::vector<float>{factor, 2 * factor}));
  }
  model.reset_gradient();
  EXPECT_FALSE(p.get_storage().has_grad());
}

// A program that has only an expression uses the graph's base class.
TEST(CompatGraphTest, GradientsThroughAnExpressionsGraphCountToo) {
  ParameterCollection model;
  const Parameter p = model.add_parameters({1}, ParameterInitConst(3));
  ComputationGraph graph;
  const Expression loss = square(parameter(graph, p));
  loss.pg->backward(loss);
  EXPECT_EQ(as_vector(*p.gradients()), (std::vector<float>{6}));
  model.reset_gradient();
}

TEST(CompatGraphTest, RandomNumbersAreNewInEveryForward) {
  ComputationGraph graph;
  const Expression r = random_normal(graph, {4});
  const auto first = as_vector(graph.forward(r));
  EXPECT_EQ(as_vector(graph.incremental_forward(r)), first);
  EXPECT_NE(as_vector(graph.forward(r)), first);
  const Expression y = dropout(input(graph, {50}, std::vector<float>(50, 1)), 0.5f);
  const auto values = as_vector(graph.forward(sum_elems(y)));
  graph.backward(sum_elems(y), true);
  EXPECT_EQ(as_vector(y.value()), as_vector(Expression(&graph, y.i - 1).gradient()));
  graph.checkpoint();
  const auto drawn = as_vector(random_normal(graph, {4}).value());
  graph.revert();
  EXPECT_NE(as_vector(random_normal(graph, {4}).value()), drawn);
}

TEST(CompatGraphTest, WhatIsNotFiniteIsNamedIfThatIsAskedFor) {
  ComputationGraph graph;
  graph.set_immediate_compute(true);
  const Expression y = log(input(graph, -1.0f));
  EXPECT_NO_THROW(graph.forward(y));
  graph.set_check_validity(true);
  EXPECT_THROW(graph.forward(y), dynet_like::NumericError);
}

TEST(CompatGraphTest, CanBeLookedAt) {
  ComputationGraph graph;
  const Expression y = tanh(input(graph, {2}, {0, 1}));
  testing::internal::CaptureStderr();
  graph.print_graphviz();
  const std::string picture = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(dynet_like::mentions(picture, "n0 -> n1;"));
  EXPECT_TRUE(dynet_like::mentions(picture, "1 tanh\\n{2}"));
  const std::string path = testing::TempDir() + "dynet_dump.txt";
  graph.backward(sum_elems(y), true);
  graph.dump(path, true, true);
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_TRUE(dynet_like::mentions(text.str(), "0 input {2}\n  value: 0 1\n  gradient: 1 0.41"));
  graph.dump(path, true, false, true);
  text.str("");
  text << std::ifstream(path).rdbuf();
  EXPECT_TRUE(dynet_like::mentions(text.str(), "value: 0 of 2 elements are not finite"));
  EXPECT_THROW(graph.dump("/nowhere/at/all", true, false), dynet_like::FileError);
}

TEST(CompatGraphTest, ExpressionsKnowTheirGraph) {
  EXPECT_TRUE(Expression().is_stale());
  ComputationGraph graph;
  const Expression x = input(graph, {2}, {1, 2});
  EXPECT_EQ(x.pg, &graph);
  EXPECT_FALSE(x.is_stale());
  EXPECT_EQ(x.dim(), Dim({2}));
  EXPECT_EQ(as_vector(Expression(&graph, x.i).value()), (std::vector<float>{1, 2}));
  graph.clear();
  EXPECT_TRUE(x.is_stale());
}

// Programs count in int, long and size_t.
TEST(CompatDimTest, IsMadeOfAnyIntegers) {
  const long rows = 2, columns = 3;
  const int three = 3;
  const std::size_t four = 4;
  EXPECT_EQ(Dim({rows, columns}), Dim({2u, 3u}));
  EXPECT_EQ(Dim({rows, columns}, 4), Dim({2u, 3u}, 4));
  EXPECT_EQ(Dim({three}), Dim({3u}));
  EXPECT_EQ(Dim({four, four}), Dim({4u, 4u}));
  const Dim assigned = {rows, rows};
  EXPECT_EQ(assigned, Dim({2u, 2u}));
  EXPECT_THROW(Dim({-1}), std::invalid_argument);
  EXPECT_THROW(Dim({1L << 40}), std::invalid_argument);
  std::ostringstream out;
  out << std::vector<Dim>{Dim({1}), Dim({2, 3}, 4)};
  EXPECT_EQ(out.str(), "[{1} {2,3X4}]");
}

TEST(CompatGraphTest, IndicesCanBeSwapped) {
  VariableIndex a = 1, b = 2;
  dynet::swap(a, b);
  EXPECT_EQ(a, 2u);
  EXPECT_EQ(b, 1u);
}

}  // namespace

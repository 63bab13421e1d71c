// ComputationGraph: lazy values, gradients of any node, views, checkpoints, stale handles.
#include <thread>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

std::vector<float> values(const Expression& e) { return as_vector(e.value()); }
std::vector<float> gradient(const Expression& e) { return as_vector(e.gradient()); }
using Floats = std::vector<float>;

TEST(Graph, ComputesWhatIsNeededAndNoMore) {
  ComputationGraph graph;
  const Expression x = input(graph, Dim({2}), {1, 2});
  const Expression y = x + 1, unused = exp(x);
  EXPECT_EQ(graph.explain().nodes, 0u);
  EXPECT_EQ(values(y), (Floats{2, 3}));
  EXPECT_EQ(graph.explain().nodes, 1u);
  values(y);
  EXPECT_EQ(graph.explain().nodes, 1u);
  values(unused);
  EXPECT_EQ(graph.explain().nodes, 2u);
}

TEST(Graph, ForwardReadsEverythingAnew) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(2));
  float number = 3;
  std::vector<float> many = {1, 2};
  ComputationGraph graph;
  const Expression x = input(graph, &number), xs = input(graph, Dim({2}), &many);
  const Expression y = cmult(parameter(graph, w), x), z = sum_elems(xs);
  EXPECT_EQ(as_scalar(y.value()), 6);
  EXPECT_EQ(as_scalar(z.value()), 3);
  number = 10;
  many[1] = 7;
  w.set_value({5});
  EXPECT_EQ(as_scalar(y.value()), 6);
  graph.invalidate();
  EXPECT_EQ(as_scalar(y.value()), 50);
  EXPECT_EQ(as_scalar(z.value()), 8);
}

TEST(Graph, HasGradientsOfAnyNode) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, ParameterInitFromVector({3, 4}));
  ComputationGraph graph;
  const Expression x = input(graph, Dim({2}), {5, 6});
  const Expression p = parameter(graph, w), y = cmult(p, x), z = y * 2, loss = sum_elems(z);
  const Expression aside = tanh(y);
  graph.backward(loss);
  EXPECT_EQ(gradient(loss), (Floats{1}));
  EXPECT_EQ(gradient(z), (Floats{1, 1}));
  EXPECT_EQ(gradient(y), (Floats{2, 2}));
  EXPECT_EQ(gradient(p), (Floats{10, 12}));
  EXPECT_EQ(gradient(x), (Floats{0, 0}));
  EXPECT_EQ(gradient(aside), (Floats{0, 0}));
  graph.backward(loss, true);
  EXPECT_EQ(gradient(x), (Floats{6, 8}));
  graph.backward(y.dim().size() == 2 ? sum_elems(y) : loss);
  EXPECT_EQ(gradient(p), (Floats{5, 6}));
}

TEST(Graph, AddsMinibatchElementsOfALoss) {
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(3, {2}, ParameterInitConst(1));
  const Parameter w = model.add_parameters({1, 2}, ParameterInitFromVector({2, 3}));
  ComputationGraph graph;
  const Expression rows = lookup(graph, table, {0, 2, 2});
  const Expression loss = parameter(graph, w) * rows;
  EXPECT_EQ(loss.dim(), Dim({1}, 3));
  const Gradients& gradients = graph.backward(loss);
  EXPECT_EQ(gradients.values(w), (Floats{3, 3}));
  EXPECT_EQ(gradients.values(table, 0), (Floats{2, 3}));
  EXPECT_EQ(gradients.values(table, 1), (Floats{0, 0}));
  EXPECT_EQ(gradients.values(table, 2), (Floats{4, 6}));
}

TEST(Graph, StopsGradients) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(3));
  const LookupParameter table = model.add_lookup_parameters(2, {1}, ParameterInitConst(2));
  ComputationGraph graph;
  const Expression p = parameter(graph, w), loss = cmult(p, nobackprop(p));
  EXPECT_EQ(graph.backward(loss).values(w), (Floats{3}));
  const Expression fixed = cmult(const_parameter(graph, w), const_lookup(graph, table, 1));
  const Gradients& gradients = graph.backward(fixed + p);
  EXPECT_EQ(gradients.values(w), (Floats{1}));
  EXPECT_EQ(gradients.values(table, 1), (Floats{0}));
}

TEST(Graph, HasOneNodePerParameter) {
  ParameterCollection model, other;
  const Parameter w = model.add_parameters({2, 2}), v = other.add_parameters({2, 2});
  ComputationGraph graph;
  const Expression first = parameter(graph, w);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(parameter(graph, w).i, first.i);
  EXPECT_NE(parameter(graph, v).i, first.i);
  EXPECT_NE(const_parameter(graph, w).i, first.i);
  EXPECT_EQ(graph.size(), 3u);
}

TEST(Graph, HasViewsWithoutNodes) {
  ComputationGraph graph;
  const Expression x = input(graph, Dim({2, 3}), {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(values(reshape(x, Dim({3, 2}))), (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(values(pick(x, 1, 1)), (Floats{3, 4}));
  EXPECT_EQ(values(pick_range(x, 1, 3, 1)), (Floats{3, 4, 5, 6}));
  const Expression batch = reshape(x, Dim({2}, 3));
  EXPECT_EQ(values(pick_batch_elem(batch, 2)), (Floats{5, 6}));
  EXPECT_EQ(values(pick_range(batch, 1, 2)), (Floats{2, 4, 6}));
  EXPECT_EQ(values(transpose(pick(x, 0, 1))), (Floats{1, 2}));
  EXPECT_EQ(graph.size(), 1u);
  EXPECT_EQ(values(pick(x, 1, 0)), (Floats{2, 4, 6}));  // elements with gaps: a node
  EXPECT_EQ(graph.size(), 2u);
  EXPECT_EQ(values(reshape(pick_range(batch, 1, 2), Dim({3}))), (Floats{2, 4, 6}));
  EXPECT_EQ(graph.explain().copied_bytes, 3 * sizeof(float));
  expect_refused<ShapeError>("...[reshape] need a shape of 6 elements for {2,3}; got {4}...",
                             [&] { reshape(x, Dim({4})); });
  expect_refused<UsageError>("...[pick] need elements of dimension 1 of {2,3}; got 3...",
                             [&] { pick(x, 3, 1); });
  expect_refused<UsageError>("...dimension 0 of {2,3}; got 1 to 2...",
                             [&] { pick_range(x, 1, 3); });
  expect_refused<ShapeError>("...{2X3}...", [&] { pick_batch_elem(batch, 3); });
}

TEST(Graph, RevertsToCheckpoints) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, ParameterInitFromVector({1, 2}));
  const Parameter v = model.add_parameters({2}, ParameterInitFromVector({3, 4}));
  ComputationGraph graph;
  const Expression base = tanh(parameter(graph, w)), x = base * 2;
  const Floats before = values(x);
  graph.checkpoint();
  const Expression scratch = cmult(x, tanh(parameter(graph, v)));
  values(scratch);
  graph.checkpoint();
  values(exp(scratch));
  graph.revert();
  EXPECT_EQ(scratch.value().d, Dim({2}));
  graph.revert();
  expect_refused<StateError>("...reverted...", [&] { scratch.value(); });
  expect_refused<StateError>("...reverted...", [&] { exp(scratch); });
  EXPECT_EQ(values(x), before);
  const Expression again = cmult(x, parameter(graph, v));
  const Floats product = values(again);
  EXPECT_EQ(product[1], before[1] * 4);
  const Gradients& gradients = graph.backward(sum_elems(again));
  EXPECT_EQ(gradients.values(v), before);
  expect_refused<UsageError>("...[revert] need a checkpoint...", [&] { graph.revert(); });
}

TEST(Graph, RefusesStaleHandles) {
  const Expression empty;
  expect_refused<StateError>("...got an empty one...", [&] { empty.value(); });
  Expression x;
  {
    ComputationGraph graph;
    x = input(graph, 1.0f);
    EXPECT_FALSE(x.is_stale());
    graph.clear();
    EXPECT_TRUE(x.is_stale());
    expect_refused<StateError>("...cleared or destroyed...", [&] { tanh(x); });
    x = input(graph, 2.0f);
    EXPECT_EQ(as_scalar(x.value()), 2);
  }
  expect_refused<StateError>("...cleared or destroyed...", [&] { x.value(); });
  ComputationGraph reuses_the_slot;
  expect_refused<StateError>("...cleared or destroyed...", [&] { x.value(); });
  ComputationGraph other;
  expect_refused<UsageError>("...[add] need inputs of one graph...",
                             [&] { input(other, 1.0f) + input(reuses_the_slot, 1.0f); });
}

TEST(Graph, RefusesGradientsBeforeThePass) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, ParameterInitConst(3));
  ComputationGraph graph;
  const Expression x = input(graph, Dim({2}), {1, 2}), p = parameter(graph, w);
  const Expression loss = dot_product(x, p);
  const auto refused = [&] {
    for (const Expression& e : {x, p, loss}) {
      expect_refused<StateError>("...[gradient] need a backward pass...", [&] { e.gradient(); });
    }
  };
  refused();
  loss.value();
  refused();
  graph.backward(loss, true);
  EXPECT_EQ(gradient(x), (Floats{3, 3}));
  EXPECT_EQ(gradient(p), (Floats{1, 2}));
  graph.invalidate();
  loss.value();
  expect_refused<StateError>("...[gradient] need a backward pass...", [&] { x.gradient(); });
}

// Also that of a loss which follows from constants alone, or whose gradient is stopped.
TEST(Graph, TheGradientOfALossIsOne) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(3));
  ComputationGraph graph;
  const Expression x = input(graph, 2.0f), c = constant(graph, {1}, 2), p = parameter(graph, w);
  const Expression minibatch = constant(graph, Dim({1}, 3), 1);
  for (const Expression& loss :
       {x, c, p, square(x), square(c), square(p), nobackprop(p), nobackprop(square(x)),
        const_parameter(graph, w), square(const_parameter(graph, w)), minibatch}) {
    for (const bool full : {false, true}) {
      graph.backward(loss, full);
      EXPECT_EQ(gradient(loss), Floats(loss.dim().bd, 1)) << loss.i << ' ' << full;
    }
  }
  graph.backward(square(c));
  EXPECT_EQ(gradient(c), (Floats{0}));
}

TEST(Graph, ShapesStayWhereTheyAre) {
  ComputationGraph graph;
  const Expression x = input(graph, Dim({2}, 2), {1, 2, 3, 4});
  const Expression y = input(graph, Dim({3}), {1, 2, 3});
  const auto& of_x = x.dim();
  auto& of_y = y.dim();
  static_assert(std::is_same_v<decltype(x.dim()), const Dim&>);
  for (unsigned n = 1; n < 2000; ++n) {
    constant(graph, Dim({n}, n % 7 + 2), 1).dim();
  }
  x.value();
  EXPECT_EQ(of_x, Dim({2}, 2));
  EXPECT_EQ(of_y, Dim({3}));
  EXPECT_EQ(&of_x, &x.dim());
}

// A program that derives its own graph gets it back from its expressions.
TEST(Graph, ExpressionsKnowWhichClassTheirGraphIs) {
  struct Own : ComputationGraph {
    int number = 7;
  } own;
  struct Other : ComputationGraph {};
  const Expression x = input(own, 1.0f);
  Own& same = *x.pg;
  EXPECT_EQ(&same, &own);
  Own* const pointer = x.pg;
  EXPECT_EQ(pointer, &own);
  const Own* const constant_pointer = x.pg;
  EXPECT_EQ(constant_pointer, &own);
  EXPECT_TRUE(x.pg == &own && x.pg != nullptr && x.pg);
  const auto is_seven = [](Own& graph) { return graph.number == 7; };
  EXPECT_TRUE(is_seven(*x.pg));
  expect_refused<UsageError>("...got one of another...", [&] {
    Other& other = *x.pg;
    (void)other;
  });
  EXPECT_EQ(static_cast<Own*>(Expression().pg), nullptr);
  EXPECT_EQ(x.get_device_name(), default_device()->is_cpu() ? "CPU" : default_device()->name());
}

TEST(Graph, WorksInManyThreadsOverTheSameParameters) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({30, 30});
  const LookupParameter table = model.add_lookup_parameters(50, {30});
  const auto run = [&](unsigned sample, Gradients& gradients) {
    ComputationGraph graph;
    Expression x = lookup(graph, table, sample % 50);
    for (int i = 0; i < 5; ++i) x = tanh(parameter(graph, w) * x);
    graph.backward(sum_elems(x), gradients);
  };
  constexpr unsigned kThreads = 4, kSamples = 20;
  std::vector<Gradients> parallel(kThreads), serial(kThreads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < kSamples; ++i) run(t * kSamples + i, parallel[t]);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (unsigned t = 0; t < kThreads; ++t) {
    for (unsigned i = 0; i < kSamples; ++i) run(t * kSamples + i, serial[t]);
    EXPECT_EQ(parallel[t].values(w), serial[t].values(w));
    EXPECT_EQ(parallel[t].values(table, 7), serial[t].values(table, 7));
  }
  for (unsigned t = 1; t < kThreads; ++t) {
    parallel[0].add(parallel[t]);
    serial[0].add(serial[t]);
  }
  EXPECT_EQ(parallel[0].values(w), serial[0].values(w));
}

TEST(Graph, ExplainsWhatIsWrong) {
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(3, {2});
  ComputationGraph graph;
  const Expression x = input(graph, Dim({3}), {1, 2, 3});
  expect_refused<ShapeError>("...[input] need 2 values for {2}; got 3...", [&] {
    input(graph, Dim({2}), {1, 2, 3});
  });
  expect_refused<UsageError>("...[lookup] need an integer below 3; got 3...",
                             [&] { lookup(graph, table, 3); });
  expect_refused<UsageError>("...below 3; got 3...", [&] { cross_entropy(x, 3); });
  expect_refused<UsageError>("...set GraphOptions::seed...", [&] { dropout(x, 0.5f); });
  expect_refused<UsageError>("...[dropout] need a probability...", [&] { dropout(x, 1.0f); });
  expect_refused<UsageError>("...got an empty one...", [&] { parameter(graph, Parameter()); });
  expect_refused<ShapeError>("...[backward] need a loss of one number; got {3}...",
                             [&] { graph.backward(x); });
  expect_refused<ShapeError>("...[concatenate]...",
                             [&] { concatenate(std::vector<Expression>{}); });
  EXPECT_EQ(values(x), (Floats{1, 2, 3}));  // still usable
}

TEST(Graph, RevertsInsideBatches) {
  // The reverted nodes ran in one batch with nodes that stay, and stood for shared values.
  ParameterCollection model;
  const Parameter w = model.add_parameters({2}, ParameterInitFromVector({1, 2}));
  const auto record = [&](ComputationGraph& graph, float c) {
    return sum_elems(cmult(tanh(parameter(graph, w)), input(graph, Dim({2}), {c, 1}) * c));
  };
  Minibatch batch;
  ComputationGraph &first = batch.new_graph(), &second = batch.new_graph();
  first.checkpoint();
  batch.add_output(record(first, 3));
  batch.add_loss(record(second, 5));
  Minibatch alone;
  alone.add_loss(record(alone.new_graph(), 5));
  const float loss = batch.forward();
  first.revert();
  EXPECT_EQ(loss, alone.forward());
  EXPECT_EQ(batch.backward().values(w), alone.backward().values(w));
}

// Products read copies of weights; whoever holds a parameter's memory may write to it at any time.
TEST(GraphTest, ValuesThatWereHandedOutAreReadAnewByEveryPass) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({2, 2}, ParameterInitConst(1));
  const Tensor held = w.values();
  ComputationGraph graph;
  const Expression y = parameter(graph, w) * input(graph, {2, 16}, std::vector<float>(32, 1.0f));
  EXPECT_EQ(y.value().at(0), 2.0);
  held.set(0, 5.0);
  graph.invalidate();
  EXPECT_EQ(y.value().at(0), 6.0);
  const std::vector<float> dw = graph.backward(sum_elems(y)).values(w);
  EXPECT_EQ(dw[0], 16.0f);
}

}  // namespace
}  // namespace dynet_like

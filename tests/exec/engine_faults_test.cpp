// What goes wrong around a pass leaves the next one right: exceptions, reverts, changed parameters,
// tables in two roles, handles that outlived what they stood for.
#include "dynet_like/device/kernel.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class EngineFaults : public ::testing::Test {
 protected:
  // d/da = x, d/db = y
  Expression loss_of(ComputationGraph& graph, const Floats& x, const Floats& y) {
    return sum_elems(cmult(parameter(graph, b), input(graph, Dim({2}), y)) +
                     cmult(parameter(graph, a), input(graph, Dim({2}), x)));
  }
  void expect_right(Minibatch& batch) {
    batch.clear();
    batch.add_loss(loss_of(batch.new_graph(), {1, 2}, {10, 20}));
    batch.add_loss(loss_of(batch.new_graph(), {1, 2}, {10, 20}));
    batch.forward();
    const Gradients& gradients = batch.backward();
    EXPECT_EQ(gradients.values(a), (Floats{2, 4}));
    EXPECT_EQ(gradients.values(b), (Floats{20, 40}));
  }

  ParameterCollection model;
  Parameter a = model.add_parameters({2}, ParameterInitConst(1), "a");
  Parameter b = model.add_parameters({2}, ParameterInitConst(1), "b");
  LookupParameter table = model.add_lookup_parameters(3, {2}, ParameterInitConst(1), "table");
};

TEST_F(EngineFaults, APassThatThrowsLeavesNothing) {
  Minibatch parts({.detect_anomaly = true, .memory_limit = 1});
  for (float x : {1.0f, kNaN}) {
    ComputationGraph& graph = parts.new_graph();
    parts.add_loss(sum_elems(cmult(parameter(graph, a), tanh(input(graph, Dim({2}), {x, 1})))));
  }
  EXPECT_THROW(parts.forward(), NumericError);
  EXPECT_THROW(parts.backward(), UsageError);
  expect_right(parts);

  Minibatch batch;
  ComputationGraph& graph = batch.new_graph();
  batch.add_loss(dot_product(parameter(graph, a), input(graph, Dim({2}), {3, 1})));
  batch.forward();
  Gradients gradients;
  const auto stop = [](const ParameterStorage&) { throw std::runtime_error("stop"); };
  EXPECT_THROW(batch.backward(std::vector{1u}, std::span(&gradients, 1), stop), std::runtime_error);
  expect_right(batch);
}

TEST_F(EngineFaults, AnomaliesAreFoundAgain) {
  const GraphOptions options{.detect_anomaly = true};
  ComputationGraph graph(options);
  const Expression y = log(input(graph, -1.0f));
  EXPECT_THROW(y.value(), NumericError);
  EXPECT_THROW(y.value(), NumericError);
  ComputationGraph other(options);
  const Expression large = parameter(other, a) * 1e30f;
  EXPECT_THROW(other.backward(sum_elems(large * 1e30f)), NumericError);
}

TEST_F(EngineFaults, TablesHaveTwoRoles) {
  const auto run = [&](bool lookup_first) {
    ComputationGraph graph;
    const Floats numbers = {1, 2, 3, 4, 5, 6};
    std::optional<Expression> row;
    if (lookup_first) row = lookup(graph, table, 1);
    const Expression whole = cmult(parameter(graph, table), input(graph, Dim({2, 3}), numbers));
    if (!lookup_first) row = lookup(graph, table, 1);
    const Gradients& gradients = graph.backward(sum_elems(whole) + sum_elems(*row));
    EXPECT_EQ(gradients.values(table, 0), (Floats{1, 2}));
    EXPECT_EQ(gradients.values(table, 1), (Floats{4, 5}));
    EXPECT_EQ(gradients.values(table, 2), (Floats{5, 6}));
    EXPECT_EQ(as_vector(parameter(graph, table).gradient()), (Floats{1, 2, 4, 5, 5, 6}));
  };
  run(true);
  run(false);
}

TEST_F(EngineFaults, SharedValuesOutliveTheirNodes) {
  const auto expected = [&] {
    ComputationGraph graph;
    const Expression y = cmult(square(parameter(graph, a)), tanh(parameter(graph, b)));
    return graph.backward(sum_elems(cmult(y, input(graph, Dim({2}), {1, 2})))).values(a);
  }();
  ComputationGraph graph;
  const auto derived = [&](ComputationGraph& g) {
    return cmult(square(parameter(g, a)), tanh(parameter(g, b)));
  };
  const Expression first = derived(graph), x = input(graph, Dim({2}), {1, 2});
  graph.checkpoint();
  derived(graph).value();
  first.value();
  graph.revert();
  EXPECT_EQ(graph.backward(sum_elems(cmult(first, x))).values(a), expected);

  Minibatch batch;
  ComputationGraph &scratch = batch.new_graph(), &stays = batch.new_graph();
  scratch.checkpoint();
  derived(scratch).value();
  batch.add_loss(sum_elems(cmult(derived(stays), input(stays, Dim({2}), {1, 2}))));
  batch.forward();
  scratch.revert();
  EXPECT_EQ(batch.backward().values(a), expected);
}

TEST_F(EngineFaults, RevertGivesMemoryBack) {
  ComputationGraph graph;
  Expression x = input(graph, Dim({256}), Floats(256, 0.5f));
  x = tanh(x);
  x.value();
  const std::uint64_t before = graph.explain().value_bytes;
  for (int i = 0; i < 1000; ++i) {
    graph.checkpoint();
    exp(x).value();
    graph.revert();
  }
  EXPECT_EQ(graph.explain().value_bytes, before);
  EXPECT_NEAR(exp(x).value().at(3), std::exp(std::tanh(0.5)), 1e-6);
}

TEST_F(EngineFaults, RevertedHandlesThrow) {
  ComputationGraph graph;
  const Expression x = input(graph, 1.0f);
  graph.checkpoint();
  const Expression reverted = x * 2.0f;
  graph.revert();
  const Expression other = x * 100.0f;
  EXPECT_EQ(reverted.i, other.i);
  EXPECT_THROW(reverted.value(), StateError);
  EXPECT_THROW(reverted.dim(), StateError);
  EXPECT_THROW(tanh(reverted), StateError);
  EXPECT_THROW(reverted.gradient(), StateError);
  EXPECT_EQ(as_scalar(other.value()), 100);
  graph.checkpoint();
  graph.checkpoint();
  const Expression inner = x * 3.0f;
  graph.revert();
  EXPECT_EQ(as_scalar(other.value()), 100);
  graph.revert();
  EXPECT_EQ(as_scalar(other.value()), 100);
  EXPECT_EQ(as_scalar(x.value()), 1);
  EXPECT_THROW(inner.value(), StateError);

  Minibatch batch;
  ComputationGraph& sample = batch.new_graph();
  const Expression y = input(sample, 1.0f);
  sample.checkpoint();
  batch.add_loss(y * 2.0f);
  sample.revert();
  EXPECT_THROW(batch.forward(), StateError);
}

TEST_F(EngineFaults, HugeShapesThrow) {
  ComputationGraph graph;
  const Expression column = constant(graph, Dim({65536, 1}), 1);
  EXPECT_THROW(column + constant(graph, Dim({1, 65537}), 1), ShapeError);
  const Expression large = constant(graph, Dim({1u << 30}), 1);
  EXPECT_THROW(concatenate({large, large, large, large}), ShapeError);
  EXPECT_THROW(concatenate({large, large, large}), ShapeError);
  const Expression minibatch = input(graph, Dim({1}, 4096), Floats(4096));
  EXPECT_THROW(constant(graph, Dim({1u << 20}), 1) + minibatch, ShapeError);
  EXPECT_THROW(input(graph, Dim({0}), Floats()), ShapeError);
}

TEST_F(EngineFaults, ParametersOutliveTheirCollection) {
  std::optional<ParameterCollection> gone(std::in_place);
  const Parameter w = gone->add_parameters({2}, ParameterInitConst(3));
  gone.reset();
  ComputationGraph graph;
  Gradients gradients, more;
  graph.backward(sum_elems(parameter(graph, w)), gradients);
  more.add(gradients);
  EXPECT_EQ(more.values(w), (Floats{1, 1}));
  EXPECT_THROW(parameter(graph, w).gradient(), StateError);
}

TEST_F(EngineFaults, ClearedGraphsOfAMinibatchThrow) {
  Minibatch batch;
  ComputationGraph& graph = batch.new_graph();
  batch.clear();
  EXPECT_THROW(input(graph, 1.0f), UsageError);
  EXPECT_THROW(batch.graph(0), UsageError);
  EXPECT_EQ(as_scalar(input(batch.new_graph(), 2.0f).value()), 2);
}

TEST_F(EngineFaults, ExactTablesAreFreshInEveryRole) {
  AdamTrainer trainer(model, 0.1f);
  trainer.sparse_updates = SparseUpdates::exact;
  for (unsigned row : {0u, 1u, 2u, 1u}) {
    ComputationGraph graph;
    trainer.update(graph.backward(sum_elems(square(lookup(graph, table, row)))));
  }
  ComputationGraph graph;
  const Floats whole = as_vector(parameter(graph, table).value());
  ComputationGraph second;
  const Floats flipped = as_vector(transpose(transpose(parameter(second, table))).value());
  Floats rows;
  for (unsigned row = 0; row < 3; ++row) {
    for (float x : as_vector(table.values(row))) rows.push_back(x);
  }
  EXPECT_EQ(whole, rows);
  EXPECT_EQ(flipped, rows);
}

// Kernels that fail: the exception is the caller's, whatever thread it came from.
TEST_F(EngineFaults, KernelsMayThrow) {
  static const Kernels kernels{{[](const ForwardCall&) { throw std::runtime_error("no luck"); }},
                               {}};
  static const Op op = [] {
    Op result;
    result.name = "unlucky";
    result.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
    result.cost = [](const Signature&) { return 1e9; };
    result.kernels = &kernels;
    return result;
  }();
  for (unsigned threads : {1u, 3u}) {
    ComputationGraph graph({.threads = threads});
    const Expression x = input(graph, Dim({1}, 5), Floats(5, 1.0f));
    for (int i = 0; i < 3; ++i) {
      EXPECT_THROW(apply_op(op, std::span(&x, 1)).value(), std::runtime_error);
    }
    EXPECT_EQ(as_vector((x + 1.0f).value()), Floats(5, 2.0f));
  }
}

// Of a batch, one item may want a gradient and another none.
TEST_F(EngineFaults, VerificationSkipsWhatNobodyWants) {
  Minibatch batch({.verify_batching = true});
  ComputationGraph& with = batch.new_graph();
  batch.add_loss(sum_elems(tanh(parameter(with, a) + input(with, Dim({2}), {1, 2}))));
  batch.add_loss(sum_elems(input(batch.new_graph(), Dim({2}), {1, 2})));
  batch.forward();
  EXPECT_GT(batch.backward().values(a)[0], 0.0f);
}

void add_vectors(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    for (int e = 0; e < 2; ++e) {
      call.out.at<float>(i)[e] = call.in[0].at<float>(i)[e] + call.in[1].at<float>(i)[e];
    }
  }
}

// Leaves for input 0 what depends on the size of the batch.
void leave_too_much(const BackwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    for (int e = 0; e < 2; ++e) {
      const float dy = call.dy.at<float>(i)[e];
      static_cast<float*>(call.deferred[i])[e] = dy * static_cast<float>(call.n);
    }
  }
}

TEST_F(EngineFaults, VerificationSeesDeferredGradients) {
  static const Kernels kernels{{add_vectors, nullptr}, {leave_too_much, nullptr}};
  static const Op op = [] {
    Op result;
    result.name = "deferring";
    result.min_inputs = result.max_inputs = 2;
    result.batching.join = [](unsigned input, std::span<const std::uint32_t>) {
      return input == 0 ? Join::broadcast : Join::stacked;
    };
    result.gradient.needs = Needs::nothing;
    result.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
    result.gradient.shared = [](const Signature&, unsigned input) {
      return input == 0 ? SharedGradient::sum : SharedGradient::dense;
    };
    result.gradient.deferred_size = [](const Signature& type) { return type.output_size; };
    result.kernels = &kernels;
    return result;
  }();
  Minibatch batch({.verify_batching = true});
  for (float x : {1.0f, 2.0f}) {
    ComputationGraph& graph = batch.new_graph();
    const Expression inputs[] = {parameter(graph, a), input(graph, Dim({2}), {x, x})};
    batch.add_loss(sum_elems(apply_op(op, inputs)));
  }
  batch.forward();
  EXPECT_THROW(batch.backward(), NumericError);
}

// Cells keep much for the backward pass, which is not to come.
TEST_F(EngineFaults, InferenceKeepsNothingForBackward) {
  ParameterCollection more;
  const unsigned hidden = 64, steps = 100;
  const Parameter w = more.add_parameters({4 * hidden, hidden});
  const Parameter bias = more.add_parameters({4 * hidden});
  Minibatch batch({.inference = true});
  ComputationGraph& graph = batch.new_graph();
  CellState state{zeros(graph, {hidden}), zeros(graph, {hidden})};
  state.h = state.h + input(graph, 0.5f);
  for (unsigned i = 0; i < steps; ++i) {
    const Expression products[] = {parameter(graph, w), state.h};
    state = lstm_cell(parameter(graph, bias), products, std::span(&state.c, 1));
  }
  batch.add_loss(sum_elems(state.h));
  batch.forward();
  EXPECT_LT(batch.explain().value_bytes, steps * 2 * hidden * sizeof(float));
}

TEST_F(EngineFaults, ForgottenValuesAreComputedForBackward) {
  Minibatch batch;
  ComputationGraph& graph = batch.new_graph();
  const Expression half = tanh(parameter(graph, a) * 0.0f + 0.5f);
  batch.add_loss(sum_elems(cmult(half, parameter(graph, b))));
  batch.forward();
  const Floats expected = batch.backward().values(b);
  batch.forward();
  graph.invalidate();
  EXPECT_EQ(batch.backward().values(b), expected);
  EXPECT_NEAR(expected[0], std::tanh(0.5f), 1e-6);
}

TEST_F(EngineFaults, PlacesOfTheUserMayMove) {
  Floats values = {1, 2};
  ComputationGraph graph;
  const Expression x = input(graph, Dim({2}), &values) * 1.0f;
  values = Floats(1000, 7);
  values.resize(2);
  values.shrink_to_fit();
  EXPECT_EQ(as_vector(x.value()), (Floats{7, 7}));
  values.push_back(1);
  graph.invalidate();
  EXPECT_THROW(x.value(), ShapeError);
}

// A contribution is added whole, so that -0 does not depend on which of two came first.
TEST_F(EngineFaults, ZerosHaveOneSign) {
  std::vector<Floats> gradients;
  for (batching::Policy policy : {batching::Policy::none, batching::Policy::automatic}) {
    ComputationGraph graph({.policy = policy});
    const Expression x = input(graph, Dim({3, 2}), Floats(6, 1.0f));
    const Expression picked = pick_range(x, 0, 1) * -0.0f + pick_range(x, 1, 2) * -0.0f;
    graph.backward(sum_elems(picked), true);
    gradients.push_back(as_vector(x.gradient()));
  }
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(std::signbit(gradients[0][i]), std::signbit(gradients[1][i])) << i;
  }
}

// Somebody who holds the memory of a parameter may write to it between two runs of a graph.
TEST_F(EngineFaults, ProductsReadWhatIsThere) {
  ParameterCollection more;
  const Parameter w = more.add_parameters({8, 8}, ParameterInitConst(1));
  const Tensor values = w.values();
  ComputationGraph graph;
  const Expression x = input(graph, Dim({8}, 16), Floats(128, 1.0f));
  const Expression before = parameter(graph, w) * x;
  EXPECT_EQ(as_vector(before.value())[0], 8.0f);
  for (std::size_t i = 0; i < 64; ++i) values.set(i, 2.0);
  const Expression after = parameter(graph, w) * (x + 0.0f);
  EXPECT_EQ(as_vector(after.value())[0], 16.0f);
}

}  // namespace
}  // namespace dynet_like

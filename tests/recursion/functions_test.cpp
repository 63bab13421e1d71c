// What functions of vertices may contain, and what is checked of them.
#include "dynet_like/device/kernel.h"
#include "dynet_like/exec/executor.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

using ops::ForwardCall, ops::Kernels, ops::Op, ops::Signature;

constexpr unsigned kWidth = 4;

struct RecursionFunctions : ::testing::Test {
  using Before = std::vector<Expression>;

  Expression numbers(ComputationGraph& graph, unsigned columns) const {
    std::vector<float> values(kWidth * columns);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1f * static_cast<float>(i) - 0.5f;
    return input(graph, {kWidth, columns}, values);
  }
  std::vector<float> gradient(ComputationGraph& graph, const Expression& loss) const {
    return graph.backward(loss).values(w);
  }

  ParameterCollection model{5};
  Parameter w = model.add_parameters({kWidth}, ParameterInitUniform(-1, 1), "w");
};

// One such operation has two numbers of its own.
TEST_F(RecursionFunctions, DrawBetweenBounds) {
  const auto along = recursion<Expression>([](const Expression& x, const Before&) {
    return x * 0.0f + random_uniform(*x.pg, {kWidth}, 2, 3);
  });
  ComputationGraph graph({.seed = 5});
  const std::vector<float> drawn =
      as_vector(along(Structure::sequence(5), numbers(graph, 5)).all().value());
  const auto [least, most] = std::ranges::minmax(drawn);
  EXPECT_GE(least, 2);
  EXPECT_LT(most, 3);
  EXPECT_GT(most - least, 0.3f);
}

struct Halving {
  Expression step(const Expression& x, const std::vector<Expression>& before) const {
    return before.empty() ? x : (before[0] + x) * factor;
  }
  float factor = 0.5f;
};

// The object may be gone, and its type needs no lambda.
TEST_F(RecursionFunctions, AreMembersOfAnObject) {
  const auto along = recursion(&Halving::step, Halving(), "halving");
  const auto expected = recursion<Expression>(
      [](const Expression& x, const Before& before) { return Halving().step(x, before); });
  ComputationGraph graph;
  const Expression columns = numbers(graph, 4);
  EXPECT_EQ(as_vector(along(Structure::sequence(4), columns).last().value()),
            as_vector(expected(Structure::sequence(4), columns).last().value()));
}

// A gradient of all columns reaches one column that is added to each.
TEST_F(RecursionFunctions, AddAParameterToEveryColumn) {
  const Parameter u = model.add_parameters({kWidth, kWidth}, "u");
  const auto function = [&](const Expression& x, const Before& before) {
    const Expression matrix = concatenate_cols({x, square(x), x + 1.0f});
    const Expression bias = parameter(*x.pg, w);
    const Expression sum =
        tanh(affine_transform({bias, parameter(*x.pg, u), colwise_add(matrix, bias)}));
    return before.empty() ? sum : cmult(sum, before[0]);
  };
  ComputationGraph graph;
  const Expression columns = numbers(graph, 2);
  const auto along = recursion<Expression>(function);
  const std::vector<float> got =
      gradient(graph, squared_norm(along(Structure::sequence(2), columns).last()));
  const Expression first = function(pick(columns, 0u, 1), {});
  const std::vector<float> want =
      gradient(graph, squared_norm(function(pick(columns, 1u, 1), {first})));
  for (unsigned i = 0; i < kWidth; ++i) EXPECT_FLOAT_EQ(got[i], want[i]) << i;
}

// A state with an element of another has a gradient of its own, and so has the other.
TEST_F(RecursionFunctions, MayReturnAnElementOfAState) {
  using State = std::array<Expression, 2>;
  for (const unsigned at : {0u, kWidth - 1}) {
    const auto along = recursion<State>([&](const Expression& x, const std::vector<State>&) {
      const Expression all = tanh(cmult(x, parameter(*x.pg, w)));
      return State{all, pick_range(all, at, at + 1)};
    });
    ComputationGraph graph;
    const State state = along(Structure::sequence(1), numbers(graph, 1)).last();
    graph.backward(sum_elems(state[0]) + state[1] * 10.0f);
    EXPECT_EQ(as_vector(state[0].gradient()), std::vector<float>(kWidth, 1)) << at;
    EXPECT_EQ(as_vector(state[1].gradient()), std::vector<float>(1, 10)) << at;
  }
}

// It is called again, and must do what was recorded: with the same numbers, and the same parts.
TEST_F(RecursionFunctions, AreCalledAgainWhereBatchingIsVerified) {
  unsigned calls = 0;
  const auto number = recursion<Expression>(
      [&](const Expression& x, const Before&) { return x * static_cast<float>(++calls); });
  const auto part = recursion<Expression>([&](const Expression& x, const Before&) {
    const unsigned first = ++calls % 2;
    return pick_range(tanh(x), first, first + 2) * 2.0f;
  });
  for (const auto& along : {number, part}) {
    const GraphOptions options{.verify_batching = true};
    EXPECT_THROW(
        {
          ComputationGraph graph(options);
          along(Structure::sequence(1), numbers(graph, 1)).last().value();
          along(Structure::sequence(1), numbers(graph, 1)).last().value();
        },
        UsageError);
  }
}

// Forward kernels of the user are always given a place for what they save.
void add_saved(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) {
    for (unsigned k = 0; k < kWidth; ++k) {
      const float x = call.in[0].at<float>(i)[k];
      static_cast<float*>(call.saved)[i * kWidth + k] = x;
      call.out.at<float>(i)[k] = x + static_cast<float*>(call.saved)[i * kWidth + k];
    }
  }
}

TEST_F(RecursionFunctions, CallKernelsOfTheUser) {
  static const Kernels kernels{{add_saved, nullptr}, {}};
  static const Op op = [] {
    Op result;
    result.name = "twice";
    result.gradient.saved_size = [](const Signature& signature) { return signature.output_size; };
    result.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
    result.kernels = &kernels;
    return result;
  }();
  const auto along = recursion<Expression>([](const Expression& x, const Before& before) {
    const Expression y = apply_op(op, std::span(&x, 1));
    return before.empty() ? y : y + before[0];
  });
  for (const bool inference : {false, true}) {
    ComputationGraph graph({.inference = inference});
    const Expression columns = numbers(graph, 3);
    const auto got = as_vector(along(Structure::sequence(3), columns).last().value());
    const auto want = as_vector((2.0f * sum_dim(columns, {1})).value());
    for (unsigned i = 0; i < kWidth; ++i) EXPECT_FLOAT_EQ(got[i], want[i]) << inference;
  }
}

// A sample whose states nobody reads has no gradients, whatever its memory holds.
TEST_F(RecursionFunctions, SamplesThatNobodyReadAreNoAnomaly) {
  const auto along = recursion<Expression>([&](const Expression& x, const Before& before) {
    const Expression y = cmult(x, parameter(*x.pg, w));
    return before.empty() ? y : tanh(y + before[0]);
  });
  for (const unsigned unread : {0u, 1u, 2u}) {
    Minibatch batch;
    for (const bool leaves_nan : {true, false}) {
      batch.clear();
      std::vector<Expression> unused;
      for (unsigned sample = 0; sample < 3; ++sample) {
        ComputationGraph& graph = batch.new_graph();
        graph.run().executor.common().options.detect_anomaly = !leaves_nan;
        const Expression last = along(Structure::sequence(3), numbers(graph, 3)).last();
        if (sample == unread && !leaves_nan) {
          unused.push_back(last);
          continue;
        }
        const float factor = leaves_nan ? std::numeric_limits<float>::infinity() : 1.0f;
        batch.add_loss(sum_elems(last * factor));
      }
      for (const Expression& e : unused) e.value();
      batch.forward();
      EXPECT_NO_THROW(batch.backward());
    }
  }
}

}  // namespace
}  // namespace dynet_like::testing

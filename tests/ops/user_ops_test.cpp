// Ops of the user that lack something, or are called with numbers that do not fit: what they throw.
#include "dynet_like/device/kernel.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

void copy(const ForwardCall& call) {
  for (std::size_t i = 0; i < call.n; ++i) *call.out.at<float>(i) = *call.in[0].at<float>(i);
}

Dim same_shape(std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; }

// Forward, in float.
const Op& one_way_op() {
  static const Kernels kernels{{copy, nullptr}, {}};
  static const Op op = [] {
    Op result;
    result.name = "one_way";
    result.gradient.needs = Needs::nothing;
    result.shape = same_shape;
    result.kernels = &kernels;
    return result;
  }();
  return op;
}

Expression one_way(const Expression& x) { return apply_op(one_way_op(), std::span(&x, 1)); }

TEST(UserOpsTest, WithoutABackwardKernel) {
  ParameterCollection model;
  const Parameter w = model.add_parameters({1}, ParameterInitConst(3));
  ComputationGraph graph;
  const Expression x = parameter(graph, w), y = one_way(x + input(graph, 1.0f));
  EXPECT_EQ(as_scalar(y.value()), 4.0f);
  EXPECT_EQ(message_of<DeviceError>([&] { graph.backward(y); }),
            "[one_way] need a backward kernel for float; got none");
  // Where no gradient goes through it, none is needed.
  const Expression z = x * one_way(input(graph, 5.0f));
  EXPECT_EQ(graph.backward(z).values(w), std::vector<float>{5});
}

TEST(UserOpsTest, WithoutAKernelForDoubles) {
  GraphOptions options;
  options.dtype = DType::f64;
  ComputationGraph graph(options);
  const Expression y = one_way(input(graph, 2.0f));
  EXPECT_EQ(message_of<DeviceError>([&] { y.value(); }),
            "[one_way] need a forward kernel for double; got none");
}

TEST(UserOpsTest, WithoutKernelsOrRules) {
  static const Op no_kernels = [] {
    Op op;
    op.name = "idle";
    op.shape = same_shape;
    return op;
  }();
  static const Op no_shape = [] {
    Op op;
    op.name = "shapeless";
    return op;
  }();
  ComputationGraph graph;
  const Expression x = input(graph, 2.0f), y = apply_op(no_kernels, std::span(&x, 1));
  EXPECT_EQ(message_of<DeviceError>([&] { y.value(); }),
            "[idle] need a kernel for the CPU; got none");
  EXPECT_EQ(message_of<UsageError>([&] { apply_op(no_shape, std::span(&x, 1)); }),
            "[shapeless] need a shape rule, Op::shape; got none");
  EXPECT_EQ(as_scalar((x + 1.0f).value()), 3.0f);
}

// Of a matrix by column too, whose numbers are dealt out to the columns.
TEST(UserOpsTest, WithNumbersThatDoNotFit) {
  static const Op plain = [] {
    Op op;
    op.name = "plain";
    op.shape = same_shape;
    return op;
  }();
  static const Op numbered = [] {
    Op op = plain;
    op.name = "numbered";
    op.numbers.integers = 2;
    op.numbers.reals = 1;
    return op;
  }();
  const auto by_column = [](const Op& op) {
    Op result = op;
    result.batching.by_column = [](unsigned, unsigned, std::span<const std::uint32_t>) {
      return true;
    };
    return result;
  };
  static const Op plain_columns = by_column(plain), numbered_columns = by_column(numbered);
  ComputationGraph graph;
  const Expression matrix = input(graph, {9, 2}, std::vector<float>(18, 0.5f));
  const Expression two = input(graph, Dim({9, 2}, 2), std::vector<float>(36, 0.5f));
  const auto call = [](const Op& op, const Expression& x, std::vector<std::uint32_t> integers,
                       std::vector<double> reals) {
    return message_of<UsageError>([&] { apply_op(op, {x}, {}, integers, reals); });
  };
  for (const Op* op : {&plain, &plain_columns}) {
    apply_op(*op, {matrix});  // what is recorded twice in a row takes a shorter way
    EXPECT_EQ(call(*op, matrix, {1}, {}), "[plain] need no integers; got 1");
    EXPECT_EQ(call(*op, two, {}, {0.5, 1.5}), "[plain] need no reals; got 2");
  }
  for (const Op* op : {&numbered, &numbered_columns}) {
    apply_op(*op, {matrix}, {}, {1, 2}, {0.5});
    EXPECT_EQ(call(*op, matrix, {1, 2, 3}, {0.5}), "[numbered] need 2 integers; got 3");
    EXPECT_EQ(call(*op, matrix, {}, {0.5}), "[numbered] need 2 integers; got 0");
    EXPECT_EQ(call(*op, matrix, {1, 2, 3, 4, 5, 6}, {0.5, 1.5}),
              "[numbered] need 1 real for each of 3 minibatch elements; got 2");
    EXPECT_EQ(apply_op(*op, {two}, {}, {1, 2, 3, 4}, {0.5, 1.5}).dim(), two.dim());
  }
}

// Kernels believe the first integer of an item.
TEST(UserOpsTest, WithAnyNumberOfColumns) {
  static const Op open = [] {
    Op op;
    op.name = "open";
    op.batching.open_inputs = 1;
    op.numbers.integers = 1;
    op.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) {
      return Dim({in[0].rows()});
    };
    return op;
  }();
  ComputationGraph graph;
  const auto call = [&](const Dim& dim, std::vector<std::uint32_t> integers) {
    return apply_op(open, {zeros(graph, dim)}, {}, integers);
  };
  EXPECT_EQ(call({9, 2}, {2}).dim(), Dim({9}));
  EXPECT_EQ(call({9, 2}, {2, 2}).dim(), Dim({9}, 2));
  const auto message = [&](const Dim& dim, std::vector<std::uint32_t> integers) {
    return message_of<ShapeError>([&] { call(dim, integers); });
  };
  const std::string need =
      "[open] need no minibatch and as many columns as the first integer says at place 0; got ";
  EXPECT_EQ(message({9, 2}, {3}), need + "{9,2}");
  EXPECT_EQ(message({9, 2}, {2, 1}), need + "{9,2}");
  EXPECT_EQ(message(Dim({9, 2}, 2), {2}), need + "{9,2X2}");
  EXPECT_EQ(message({9}, {1}), need + "{9}");
  EXPECT_EQ(message_of<UsageError>([&] { call({9, 2}, {}); }), "[open] need 1 integer; got 0");
}

}  // namespace
}  // namespace dynet_like

// Minibatches whose samples run beside each other: the bits of one thread, whatever comes between.
#include <stdexcept>

#include "dynet_like/device/kernel.h"
#include "tests/support/message_of.h"
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"

namespace dynet_like::testing {
namespace {

// A chain of random length per sample that reads parameters as they are, a function of them, and a
// table by rows; with fan-out, so that gradients are summed.
class LanesTest : public ::testing::Test {
 protected:
  Expression loss_of(ComputationGraph& graph, unsigned sample) {
    const Expression squashed = tanh(parameter(graph, u_));
    Expression h = lookup(graph, table_, sample % 7);
    Expression total = sum_elems(h);
    for (unsigned step = 0; step < 3 + sample * 5 % 11; ++step) {
      const Expression x = lookup(graph, table_, (sample + step) % 7);
      h = tanh(affine_transform({parameter(graph, b_), parameter(graph, w_), h, squashed, x}));
      total = total + sum_elems(cmult(h, x)) + sum_elems(h);
    }
    return total;
  }

  ParameterCollection model_;
  Parameter w_ = model_.add_parameters({12, 12}), u_ = model_.add_parameters({12, 12});
  Parameter b_ = model_.add_parameters({12});
  LookupParameter table_ = model_.add_lookup_parameters(7, {12});
};

TEST_F(LanesTest, LanesAreUsed) {
  Minibatch batch({.threads = 3});
  for (unsigned i = 0; i < 40; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
  batch.forward();
  std::uint64_t batches = 0;
  for (const Report::Type& type : batch.explain().types) {
    if (type.op == "affine_transform") batches = type.batches;
  }
  EXPECT_GT(batches, 13u);  // the longest chain; one lane needs no more
  EXPECT_LE(batches, 3 * 13u);
}

TEST_F(LanesTest, AFailureInOneLaneReachesTheCaller) {
  Minibatch batch({.threads = 4, .detect_anomaly = true});
  for (unsigned i = 0; i < 40; ++i) {
    ComputationGraph& graph = batch.new_graph();
    Expression loss = loss_of(graph, i);
    if (i == 23) loss = loss + log(input(graph, -1.0f));
    batch.add_loss(loss);
  }
  try {
    batch.forward();
    FAIL() << "no error";
  } catch (const NumericError& error) {
    EXPECT_TRUE(mentions(std::string(error.what()), "sample 23")) << error.what();
  }
  batch.clear();
  batch.add_loss(loss_of(batch.new_graph(), 1));
  EXPECT_NE(batch.forward(), 0.0f);
}

// Kernels that throw, in either direction, while other lanes go on.
TEST_F(LanesTest, AfterAFailureInOneLaneClearIsEnough) {
  static const Kernels kernels{{[](const ForwardCall& call) {
                                  for (std::size_t i = 0; i < call.n; ++i) {
                                    const float x = *call.in[0].at<float>(i);
                                    if (x == 1) throw std::runtime_error("forward");
                                    *call.out.at<float>(i) = x;
                                  }
                                },
                                nullptr},
                               {[](const BackwardCall& call) {
                                  for (std::size_t i = 0; i < call.n; ++i) {
                                    if (*call.in[0].at<float>(i) == 2)
                                      throw std::runtime_error("backward");
                                    const float before =
                                        call.dx[0].add[i] != 0 ? *call.dx[0].at<float>(i) : 0.0f;
                                    *call.dx[0].at<float>(i) = before + *call.dy.at<float>(i);
                                  }
                                },
                                nullptr}};
  static const Op op = [] {
    Op result;
    result.name = "particular";
    result.shape = [](std::span<const Dim> in, std::span<const std::uint32_t>) { return in[0]; };
    result.kernels = &kernels;
    return result;
  }();
  Minibatch batch({.threads = 4});
  const auto run = [&](float x) {
    batch.clear();
    for (unsigned i = 0; i < 40; ++i) {
      ComputationGraph& graph = batch.new_graph();
      const Expression number = pick(lookup(graph, table_, 0), 0) * 0.0f + (i == 23 ? x : 0.0f);
      batch.add_loss(loss_of(graph, i) + apply_op(op, std::span(&number, 1)));
    }
    batch.forward();
    return numbers_of(model_, batch.backward());
  };
  const Numbers expected = run(0);
  for (const float x : {1.0f, 2.0f}) {
    EXPECT_THROW(run(x), std::runtime_error);
    EXPECT_EQ(run(0), expected) << x;
  }
}

// The last part may be so small that it needs fewer lanes than those before.
TEST_F(LanesTest, ReportsCountAllParts) {
  std::size_t most_parts = 0;
  for (std::size_t limit = 20000; limit <= 120000; limit += 4000) {
    std::vector<std::uint64_t> nodes;
    for (const unsigned threads : {1u, 4u}) {
      Minibatch batch({.threads = threads, .memory_limit = limit});
      for (unsigned i = 0; i < 40; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
      batch.forward();
      nodes.push_back(batch.explain().nodes);
      most_parts = std::max(most_parts, batch.parts());
    }
    EXPECT_EQ(nodes[1], nodes[0]) << limit;
  }
  EXPECT_GT(most_parts, 3u);
}

}  // namespace
}  // namespace dynet_like::testing

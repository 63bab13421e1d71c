// Minibatches whose samples run beside each other: the bits of one thread, whatever comes between.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynet_like/device/kernel.h"
#include "dynet_like/dynet_like.h"

namespace dynet_like {
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

  struct Outcome {
    float loss = 0;
    std::vector<std::vector<float>> gradients;
    bool operator==(const Outcome&) const = default;
  };

  Outcome outcome(float loss, const Gradients& gradients) const {
    Outcome result{loss, {gradients.values(w_), gradients.values(u_), gradients.values(b_)}};
    for (unsigned row = 0; row < 7; ++row)
      result.gradients.push_back(gradients.values(table_, row));
    return result;
  }

  // The same with 1 to 5 threads as with one.
  void expect_same(const std::function<Outcome(Minibatch&)>& run, GraphOptions options = {}) {
    Outcome expected;
    for (unsigned threads = 1; threads <= 5; ++threads) {
      options.threads = threads;
      Minibatch batch(options);
      for (int round = 0; round < 2; ++round, batch.clear()) {
        const Outcome got = run(batch);
        if (threads == 1 && round == 0) expected = got;
        EXPECT_TRUE(got == expected) << threads << " threads, round " << round;
      }
    }
    EXPECT_NE(expected.loss, 0.0f);
  }

  ParameterCollection model_;
  Parameter w_ = model_.add_parameters({12, 12}), u_ = model_.add_parameters({12, 12});
  Parameter b_ = model_.add_parameters({12});
  LookupParameter table_ = model_.add_lookup_parameters(7, {12});
};

TEST_F(LanesTest, OneForwardAndOneBackward) {
  expect_same([&](Minibatch& batch) {
    for (unsigned i = 0; i < 40; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
    const float loss = batch.forward();
    return outcome(loss, batch.backward());
  });
}

TEST_F(LanesTest, LanesAreUsed) {
  GraphOptions options;
  options.threads = 3;
  Minibatch batch(options);
  for (unsigned i = 0; i < 40; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
  batch.forward();
  std::uint64_t batches = 0;
  for (const Report::Type& type : batch.explain().types) {
    if (type.op == "affine_transform") batches = type.batches;
  }
  EXPECT_GT(batches, 13u);  // the longest chain; one lane needs no more
  EXPECT_LE(batches, 3 * 13u);
}

TEST_F(LanesTest, SamplesThatCameLater) {
  expect_same([&](Minibatch& batch) {
    for (unsigned i = 0; i < 30; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
    batch.forward();
    for (unsigned i = 30; i < 45; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
    const float loss = batch.forward();
    return outcome(loss, batch.backward());
  });
}

TEST_F(LanesTest, ValuesAskedForBeforeAndAfter) {
  expect_same([&](Minibatch& batch) {
    std::vector<Expression> losses;
    for (unsigned i = 0; i < 30; ++i) losses.push_back(loss_of(batch.new_graph(), i));
    const double before = losses[17].value().at(0);
    for (const Expression& loss : losses) batch.add_loss(loss);
    float loss = batch.forward();
    const Expression after = losses[3] + losses[3];
    loss += static_cast<float>(after.value().at(0) + before);
    return outcome(loss, batch.backward());
  });
}

TEST_F(LanesTest, GraphsThatGoBack) {
  expect_same([&](Minibatch& batch) {
    for (unsigned i = 0; i < 30; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
    float loss = batch.forward();
    for (const std::size_t sample : {2u, 29u}) {
      ComputationGraph& graph = batch.graph(sample);
      graph.checkpoint();
      loss += static_cast<float>(loss_of(graph, 5).value().at(0));
      graph.revert();
      loss += static_cast<float>(loss_of(graph, 6).value().at(0));
    }
    loss += batch.forward();
    return outcome(loss, batch.backward());
  });
}

TEST_F(LanesTest, PartsAndInference) {
  GraphOptions options;
  options.memory_limit = 100'000;
  expect_same(
      [&](Minibatch& batch) {
        for (unsigned i = 0; i < 60; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
        const float loss = batch.forward();
        EXPECT_GT(batch.parts(), 1u);
        return outcome(loss, batch.backward());
      },
      options);
  options.inference = true;
  expect_same(
      [&](Minibatch& batch) {
        for (unsigned i = 0; i < 60; ++i) batch.add_loss(loss_of(batch.new_graph(), i));
        return outcome(batch.forward(), Gradients());
      },
      options);
}

TEST_F(LanesTest, AFailureInOneLaneReachesTheCaller) {
  GraphOptions options;
  options.threads = 4;
  options.detect_anomaly = true;
  Minibatch batch(options);
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
    EXPECT_NE(std::string(error.what()).find("sample 23"), std::string::npos) << error.what();
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
  GraphOptions options;
  options.threads = 4;
  Minibatch batch(options);
  const auto run = [&](float x) {
    batch.clear();
    for (unsigned i = 0; i < 40; ++i) {
      ComputationGraph& graph = batch.new_graph();
      const Expression number = pick(lookup(graph, table_, 0), 0) * 0.0f + (i == 23 ? x : 0.0f);
      batch.add_loss(loss_of(graph, i) + apply_op(op, std::span(&number, 1)));
    }
    const float loss = batch.forward();
    return outcome(loss, batch.backward());
  };
  const Outcome expected = run(0);
  for (const float x : {1.0f, 2.0f}) {
    EXPECT_THROW(run(x), std::runtime_error);
    EXPECT_TRUE(run(0) == expected) << x;
  }
}

// The last part may be so small that it needs fewer lanes than those before.
TEST_F(LanesTest, ReportsCountAllParts) {
  std::size_t most_parts = 0;
  for (std::size_t limit = 20000; limit <= 120000; limit += 4000) {
    std::vector<std::uint64_t> nodes;
    for (const unsigned threads : {1u, 4u}) {
      GraphOptions options;
      options.threads = threads;
      options.memory_limit = limit;
      Minibatch batch(options);
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
}  // namespace dynet_like

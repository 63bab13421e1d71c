// The GRU layer: formula against plain doubles, gradients, batching, shapes, errors, learning.
#include "nn/gru.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "tests/support/layers.h"

namespace dynet_like::nn {
namespace {

/// The formula of the header; without x, its terms are 0. The rows are in the order r, z, n.
Doubles plain_gru(const ParameterCollection& model, const Doubles& h, const Doubles* x) {
  const std::size_t n = h.size();
  Doubles from_h = numbers(model, "/gru/b_h"), from_x(3 * n);
  add_product(from_h, numbers(model, "/gru/U"), h);
  if (x != nullptr) {
    from_x = numbers(model, "/gru/b_x");
    add_product(from_x, numbers(model, "/gru/W"), *x);
  }
  Doubles after(n);
  for (std::size_t e = 0; e < n; ++e) {
    const double r = sigmoid(from_x[e] + from_h[e]), z = sigmoid(from_x[n + e] + from_h[n + e]);
    const double candidate = std::tanh(from_x[2 * n + e] + r * from_h[2 * n + e]);
    after[e] = (1 - z) * candidate + z * h[e];
  }
  return after;
}

TEST(GruTest, FollowsTheFormula) {
  ParameterCollection model(1, DType::f64);
  const GRU gru(model, 3, 5);
  const Embedding inputs(model, 4, 3);
  randomise(model, 2);
  ComputationGraph graph(double_options());
  std::vector<Expression> xs;
  for (unsigned i = 0; i < 4; ++i) xs.push_back(inputs(graph, i));
  const std::vector<Expression> states = gru(xs);
  ASSERT_EQ(states.size(), 4u);
  Doubles expected(5);
  for (unsigned i = 0; i < 4; ++i) {
    const Doubles x = row(inputs.table(), i);
    expected = plain_gru(model, expected, &x);
    expect_near(states[i].value(), expected);
  }
  EXPECT_TRUE(gru({}).empty());
}

TEST(GruTest, WithoutInputItsTermsAreZero) {
  ParameterCollection model(1, DType::f64);
  const GRU gru(model, 3, 4);
  const Embedding states(model, 2, 4);
  randomise(model, 3);
  ComputationGraph graph(double_options());
  const Expression sum = states(graph, 0) + states(graph, 1);
  const Doubles h = as_doubles(sum.value());
  expect_near(gru.step_without_input(sum).value(), plain_gru(model, h, nullptr));
}

TEST(GruTest, FirstValues) {
  ParameterCollection model;
  const GRU gru(model, 3, 2);
  EXPECT_EQ(numbers(model, "/gru/b_x"), Doubles(6));
  EXPECT_EQ(numbers(model, "/gru/b_h"), Doubles(6));
  EXPECT_EQ(model.find("/gru/W")->dim, Dim({6, 3}));
  EXPECT_EQ(model.find("/gru/U")->dim, Dim({6, 2}));
  // Glorot's bound is that of one gate's matrix, and nearly reached.
  const double bound = std::sqrt(6.0 / (2 + 3));
  double largest = 0;
  for (const double w : numbers(model, "/gru/W")) largest = std::max(largest, std::abs(w));
  EXPECT_LE(largest, bound);
  EXPECT_GT(largest, 0.8 * bound);
}

// ------------------------------------------------------------- a child-sum tree over a sequence

/// Reads a sequence, and then its states two by two, with a loss at every one.
struct SmallModel {
  explicit SmallModel(ParameterCollection& model)
      : embedding(model, 6, 3), gru(model, 3, 4), output(model, 4, 3) {}

  Expression loss(ComputationGraph& graph, const std::vector<unsigned>& words) const {
    std::vector<Expression> xs, losses;
    for (const unsigned word : words) xs.push_back(embedding(graph, word));
    std::vector<Expression> states = gru(xs);
    for (std::size_t i = 0; i + 1 < states.size(); i += 2) {
      states.push_back(gru.step_without_input(states[i] + states[i + 1]));
    }
    for (const Expression& state : states) {
      losses.push_back(cross_entropy(output(state), 1));
    }
    return sum(losses);
  }

  Embedding embedding;
  GRU gru;
  Linear output;
};

TEST(GruTest, GradientsAreThoseOfCentralDifferences) {
  ParameterCollection model(1, DType::f64);
  const SmallModel layers(model);
  randomise(model, 4);
  const auto loss = [&] {
    ComputationGraph graph(double_options());
    return layers.loss(graph, {1, 5, 2}).value().at(0);
  };
  ComputationGraph graph(double_options());
  Gradients gradients;
  graph.backward(layers.loss(graph, {1, 5, 2}), gradients);
  expect_slopes(model, gradients, loss);
}

/// The losses and all dense gradients of some sequences.
std::vector<float> outcome(const ParameterCollection& model, const SmallModel& layers,
                           batching::Policy policy) {
  GraphOptions options;
  options.policy = policy;
  Minibatch minibatch(options);
  std::vector<Expression> losses;
  for (const std::vector<unsigned>& words :
       {std::vector<unsigned>{0}, {1, 2}, {3, 0, 1}, {4, 4, 4, 2}, {5, 1, 0, 2, 3}}) {
    losses.push_back(layers.loss(minibatch.new_graph(), words));
    minibatch.add_loss(losses.back());
  }
  std::vector<float> all{minibatch.forward()};
  const Gradients& gradients = minibatch.backward();
  for (const Expression& loss : losses) all.push_back(as_scalar(loss.value()));
  for (const auto& storage : model.storages()) {
    if (storage->is_table) continue;
    const std::vector<float> values = gradients.values(Parameter(storage));
    all.insert(all.end(), values.begin(), values.end());
  }
  return all;
}

TEST(GruTest, BatchingChangesNoBit) {
  ParameterCollection model;
  const SmallModel layers(model);
  randomise(model, 5);
  using batching::Policy;
  const std::vector<float> expected = outcome(model, layers, Policy::none);
  for (const Policy policy : {Policy::automatic, Policy::depth, Policy::agenda, Policy::descent}) {
    const std::vector<float> got = outcome(model, layers, policy);
    ASSERT_EQ(got.size(), expected.size());
    EXPECT_EQ(std::memcmp(got.data(), expected.data(), got.size() * sizeof(float)), 0)
        << batching::name_of(policy);
  }
}

TEST(GruTest, SizesThatDoNotFit) {
  ParameterCollection model;
  EXPECT_THROW(GRU(model, 0, 3), ShapeError);
  EXPECT_THROW(GRU(model, 3, 0), ShapeError);
  const GRU gru(model, 3, 2);
  ComputationGraph graph;
  const Expression three = ones(graph, {3}), four = ones(graph, {4});
  EXPECT_THROW(gru.step(gru.start(graph), four), ShapeError);
  EXPECT_THROW(gru.step(four, three), ShapeError);
  EXPECT_THROW(gru.step_without_input(four), ShapeError);
}

TEST(GruTest, LearnsParity) {
  ParameterCollection model;
  const Embedding bits(model, 2, 4);
  const GRU gru(model, 4, 8);
  const Linear output(model, 8, 2);
  AdamTrainer trainer(model, 0.02f);
  Minibatch minibatch;
  double loss = 0;
  for (int step = 0; step < 300; ++step) {
    minibatch.clear();
    for (unsigned number = 0; number < 16; ++number) {
      ComputationGraph& graph = minibatch.new_graph();
      std::vector<Expression> xs;
      unsigned parity = 0;
      for (unsigned bit = 0; bit < 4; ++bit) {
        xs.push_back(bits(graph, number >> bit & 1u));
        parity ^= number >> bit & 1u;
      }
      minibatch.add_loss(cross_entropy(output(gru(xs).back()), parity));
    }
    loss = static_cast<double>(minibatch.forward());
    trainer.update(minibatch.backward());
  }
  EXPECT_LT(loss / 16, 0.05);
}

}  // namespace
}  // namespace dynet_like::nn

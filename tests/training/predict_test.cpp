// Batched prediction: outputs in order, whatever runs together.
#include "nn/train/predict.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"

namespace dynet_like::nn {
namespace {

struct Counter {
  ParameterCollection model;
  Parameter w = model.add_parameters({3, 3});

  /// A chain of i % 5 + 1 products.
  Expression operator()(ComputationGraph& graph, std::size_t i) const {
    Expression x = input(graph, Dim({3}), {1, static_cast<float>(i), 2});
    for (std::size_t left = i % 5 + 1; left > 0; --left) x = tanh(parameter(graph, w) * x);
    return x;
  }
};

TEST(PredictTest, GivesOutputsInOrder) {
  const Counter counter;
  constexpr std::size_t kSamples = 103;
  std::vector<std::uint32_t> sizes;
  std::vector<std::vector<float>> expected;
  for (std::size_t i = 0; i < kSamples; ++i) {
    sizes.push_back(i % 5 + 1);
    ComputationGraph graph;
    expected.push_back(as_vector(counter(graph, i).value()));
  }
  for (const std::size_t batch_size : {std::size_t{1}, std::size_t{10}, std::size_t{1000}}) {
    for (const unsigned threads : {1u, 2u}) {
      PredictionOptions options;
      options.batch_size = batch_size;
      options.graph.threads = threads;
      EXPECT_EQ(predict(kSamples, counter, as_vector, options), expected);
      options.sizes = sizes;
      EXPECT_EQ(predict(kSamples, counter, as_vector, options), expected);
    }
  }
  EXPECT_TRUE(predict(0, counter, as_vector).empty());
}

TEST(PredictTest, GivesSeveralOutputsOrNone) {
  const Counter counter;
  const auto record = [&](ComputationGraph& graph, std::size_t i) {
    std::vector<Expression> outputs;
    for (std::size_t j = 0; j < i % 3; ++j) outputs.push_back(input(graph, static_cast<float>(j)));
    return outputs;
  };
  std::vector<std::size_t> order, counts;
  const auto use = [&](std::size_t i, std::span<const Tensor> outputs) {
    order.push_back(i);
    counts.push_back(outputs.size());
    for (std::size_t j = 0; j < outputs.size(); ++j) EXPECT_EQ(outputs[j].at(0), double(j));
  };
  predict_outputs(5, record, use, {.batch_size = 2});
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(counts, (std::vector<std::size_t>{0, 1, 2, 0, 1}));
}

TEST(PredictTest, RefusesWhatMakesNoSense) {
  const Counter counter;
  const std::vector<std::uint32_t> sizes = {1, 2};
  EXPECT_THROW(predict(3, counter, as_vector, {.sizes = sizes}), UsageError);
  EXPECT_THROW(predict(3, counter, as_vector, {.batch_size = 0}), UsageError);
  const auto fail = [](ComputationGraph&, std::size_t) -> Expression { throw StateError("no"); };
  EXPECT_THROW(predict(3, fail, as_vector), StateError);
}

// Values of one minibatch at a time are in memory.
TEST(PredictTest, TakesTheMemoryOfAMinibatch) {
  std::size_t alive = 0, most = 0;
  predict_outputs(
      100,
      [&](ComputationGraph& graph, std::size_t) {
        most = std::max(most, ++alive);
        return std::vector<Expression>{input(graph, 1.0f)};
      },
      [&](std::size_t, std::span<const Tensor>) { --alive; }, {.batch_size = 7});
  EXPECT_EQ(most, 7u);
}

}  // namespace
}  // namespace dynet_like::nn

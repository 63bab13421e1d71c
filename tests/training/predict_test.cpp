// Batched prediction: results in order, whatever runs together.
#include <atomic>
#include <utility>

#include "nn/evaluate/predict.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

struct Counter {
  ParameterCollection model;
  Parameter w = model.add_parameters({3, 3});

  /// A chain of i % 5 + 1 products.
  std::vector<float> operator()(ComputationGraph& graph, std::size_t i) const {
    Expression x = input(graph, Dim({3}), {1, static_cast<float>(i), 2});
    for (std::size_t left = i % 5 + 1; left > 0; --left) x = tanh(parameter(graph, w) * x);
    return as_vector(x.value());
  }
};

TEST(PredictTest, GivesResultsInOrder) {
  const Counter counter;
  constexpr std::size_t kSamples = 103;
  std::vector<std::uint32_t> sizes;
  std::vector<std::vector<float>> expected;
  for (std::size_t i = 0; i < kSamples; ++i) {
    sizes.push_back(i % 5 + 1);
    ComputationGraph graph;
    expected.push_back(counter(graph, i));
  }
  for (const std::size_t batch_size : {std::size_t{1}, std::size_t{10}, std::size_t{1000}}) {
    for (const unsigned threads : {0u, 1u, 2u}) {
      PredictionOptions options;
      options.batch_size = batch_size;
      options.graph.threads = threads;
      EXPECT_EQ(predict(kSamples, counter, options), expected);
      options.sizes = sizes;
      EXPECT_EQ(predict(kSamples, counter, options), expected);
    }
  }
  EXPECT_TRUE(predict(0, counter).empty());
}

// Any type of results; samples may ask for values, and go on as these say.
TEST(PredictTest, TakesSamplesOfARange) {
  const std::vector<std::string> texts = {"one", "three", ""};
  const auto rounds = [](ComputationGraph& graph, const std::string& text) {
    std::pair<std::string, int> result = {text + "!", 0};
    Expression x = input(graph, static_cast<float>(text.size()));
    for (; as_scalar(x.value()) > 0; ++result.second) x = x - 1.0f;
    return result;
  };
  const std::vector<std::pair<std::string, int>> expected = {{"one!", 3}, {"three!", 5}, {"!", 0}};
  EXPECT_EQ(predict(texts, rounds), expected);
  EXPECT_EQ(predict(std::span(texts).first(2), rounds, {.batch_size = 1}).size(), 2u);
  const auto is_long = [](ComputationGraph&, const std::string& text) { return text.size() > 4; };
  EXPECT_EQ(predict(texts, is_long), (std::vector<bool>{false, true, false}));
}

TEST(PredictTest, DrawsTheSameInAnyMinibatch) {
  const auto draw = [](ComputationGraph& graph, std::size_t) {
    return as_vector(random_uniform(graph, {3}, 0, 1).value());
  };
  const auto expected = predict(20, draw, {.batch_size = 1});
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_EQ(predict(20, draw, {.batch_size = 7}), expected);
  EXPECT_NE(predict(20, draw, {.graph = {.seed = 5}}), expected);
}

TEST(PredictTest, RanksShareSamples) {
  const Counter counter;
  const auto expected = predict(30, counter);
  const auto names = [](ComputationGraph&, std::size_t i) {
    return std::vector<std::string>{std::to_string(i), std::string(i, 'x')};
  };
  const auto expected_names = predict(30, names);
  for (const unsigned count : {2u, 3u}) {
    run_ranks(count, [&](const std::shared_ptr<Communicator>& ranks) {
      std::atomic<std::size_t> own = 0;
      const auto counted = [&](ComputationGraph& graph, std::size_t i) {
        ++own;
        return counter(graph, i);
      };
      EXPECT_EQ(predict(30, counted, {.batch_size = 4, .ranks = ranks.get()}), expected);
      EXPECT_LT(own, 30u);
      EXPECT_EQ(predict(30, names, {.batch_size = 4, .ranks = ranks.get()}), expected_names);
      const auto pair = [](ComputationGraph&, std::size_t i) { return std::pair(i, i); };
      EXPECT_EQ(message_of<UsageError>([&] {
                  predict(30, pair, {.ranks = ranks.get()});
                }).find("[predict] need results that are numbers"),
                0u);
    });
  }
}

TEST(PredictTest, RefusesWhatMakesNoSense) {
  const Counter counter;
  const std::vector<std::uint32_t> sizes = {1, 2};
  EXPECT_THROW(predict(3, counter, {.sizes = sizes}), UsageError);
  EXPECT_THROW(predict(3, counter, {.batch_size = 0}), UsageError);
  const auto fail = [](ComputationGraph&, std::size_t) -> int { throw StateError("no"); };
  EXPECT_THROW(predict(3, fail), StateError);
}

// Bytes of another rank may be damaged.
TEST(PredictTest, PartsOfResultsAreRefused) {
  const std::vector<std::string> result = {"one", "two"};
  Communicator::Bytes bytes;
  append_result(bytes, result);
  std::span<const std::byte> rest = bytes;
  std::vector<std::string> back;
  read_result(rest, back);
  EXPECT_EQ(back, result);
  EXPECT_TRUE(rest.empty());
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    rest = std::span(bytes).first(size);
    EXPECT_THROW(read_result(rest, back), RankError) << size;
  }
}

}  // namespace
}  // namespace dynet_like::nn

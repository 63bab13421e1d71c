// The random numbers of a sample follow from its seed: the same bits in any minibatch, and alone.
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"
#include "tests/support/message_of.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;

constexpr unsigned kWords = 7, kSize = 5;
constexpr std::size_t kSamples = 9;

/// Dropout of words, of a recursion's vertices, of a cell and of columns; and other random numbers.
struct Model {
  ParameterCollection parameters{3};
  nn::Embedding words{parameters, kWords, kSize};
  nn::LSTM lstm{parameters, kSize, kSize};
  nn::Linear output{parameters, kSize, kSize};

  static constexpr auto drop = [](const Expression& x) { return dropout(x, 0.3f); };
  decltype(cell(drop, "noisy")) noisy = cell(drop, "noisy");

  Expression loss(ComputationGraph& graph, std::size_t sample) const {
    std::vector<unsigned> ids;
    for (unsigned i = 0; i < 2 + sample % 3; ++i) ids.push_back((sample + i) % kWords);
    const Expression x = words.columns(graph, nn::drop_words(graph, ids, 0, 0.4f));
    const auto along = recursion<Expression>(
        [&](const Expression& word, const std::vector<Expression>& before) {
          const Expression y = dropout(word, 0.2f);
          return before.empty() ? y : tanh(y + before[0]);
        },
        "along");
    const Structure sequence = Structure::sequence(static_cast<unsigned>(ids.size()));
    Expression h = noisy(along(sequence, dropout(x, 0.25f)).last());
    h = h + random_normal(graph, {kSize}) + dropout_dim(output(h), 0, 0.5f);
    return cross_entropy(h, graph.random().below(kSize));
  }
};

struct Result {
  float loss = 0;
  std::vector<Floats> gradients;

  bool operator==(const Result&) const = default;
};

class SeedsTest : public testing::Test {
 protected:
  std::vector<Floats> values(const Gradients& gradients) const {
    std::vector<Floats> all;
    for (const auto& storage : model_.parameters.storages()) {
      all.push_back(gradients.all_values(*storage));
    }
    return all;
  }
  static std::uint64_t seed_of(std::size_t sample) { return 1000 + 7 * sample; }
  Result alone(std::size_t sample) const {
    ComputationGraph graph;
    graph.set_seed(seed_of(sample));
    const Expression loss = model_.loss(graph, sample);
    return {as_scalar(loss.value()), values(graph.backward(loss))};
  }

  Model model_;
};

std::vector<std::vector<std::size_t>> orders() {
  return {{0, 1, 2, 3, 4, 5, 6, 7, 8}, {8, 3, 5, 1}, {4}, {2, 2, 7, 6, 5, 4, 3, 2, 1, 0}};
}

TEST_F(SeedsTest, ASampleHasItsBitsInAnyMinibatch) {
  std::vector<Result> expected;
  for (std::size_t sample = 0; sample < kSamples; ++sample) expected.push_back(alone(sample));
  EXPECT_NE(expected[0].loss, expected[3].loss);
  for (const unsigned threads : {1u, 2u, 4u}) {
    for (const int way : {0, 1, 2}) {
      GraphOptions options;
      options.threads = threads;
      options.verify_batching = threads == 2;
      Minibatch batch(options);
      for (const std::vector<std::size_t>& order : orders()) {
        std::vector<std::uint64_t> seeds;
        std::vector<std::uint32_t> ends;
        for (const std::size_t sample : order) {
          seeds.push_back(seed_of(sample));
          ends.push_back(static_cast<std::uint32_t>(seeds.size()));
        }
        batch.clear();
        batch.seed_samples(seeds);
        const auto loss_of = [&](ComputationGraph& graph, std::size_t i) {
          return model_.loss(graph, order[i]);
        };
        if (way == 0) batch.add_losses(order.size(), loss_of);
        if (way == 1) batch.add_losses(for_each_sample(batch, order.size(), loss_of));
        for (std::size_t i = 0; way == 2 && i < order.size(); ++i) {
          batch.add_loss(loss_of(batch.new_graph(), i));
        }
        batch.forward();
        std::vector<Gradients> gradients(order.size());
        batch.backward(ends, gradients);
        for (std::uint32_t i = 0; i < order.size(); ++i) {
          SCOPED_TRACE(std::to_string(order[i]) + " at place " + std::to_string(i));
          EXPECT_EQ(static_cast<float>(batch.loss_of(i, i + 1)), expected[order[i]].loss);
          EXPECT_EQ(values(gradients[i]), expected[order[i]].gradients);
        }
      }
    }
  }
}

Floats drawn(ComputationGraph& graph) {
  return as_vector(random_uniform(graph, {20}, 0, 1).value());
}

TEST(GraphSeedsTest, AGraphAloneNeedsASeed) {
  ComputationGraph graph;
  const Expression x = ones(graph, {3});
  const std::string advice =
      "] need a seed for random numbers; got a graph by itself, without one: set "
      "GraphOptions::seed, call set_seed, or use a Minibatch; with GraphOptions::inference "
      "dropout needs none";
  EXPECT_EQ(message_of<UsageError>([&] { dropout(x, 0.5f); }), "[dropout" + advice);
  EXPECT_EQ(message_of<UsageError>([&] { random_normal(graph, {3}); }), "[random_normal" + advice);
  EXPECT_EQ(message_of<UsageError>([&] { graph.random(); }), "[random" + advice);
  graph.set_seed(5);
  graph.set_seed(6);
  const Floats first = drawn(graph);
  EXPECT_EQ(message_of<UsageError>([&] { graph.set_seed(6); }),
            "[set_seed] need a graph without random numbers; got one that has drawn some: call it "
            "before, or after clear()");
  graph.clear();
  EXPECT_THROW(drawn(graph), UsageError);
  graph.set_seed(6);
  EXPECT_EQ(drawn(graph), first);
  EXPECT_NE(drawn(graph), first);
}

TEST(GraphSeedsTest, NumbersOfAGraphAreThoseOfItsSeed) {
  GraphOptions options;
  options.seed = 1;
  ComputationGraph one(options), same(options);
  options.seed = 2;
  ComputationGraph other(options);
  const Floats first = drawn(one);
  EXPECT_EQ(drawn(same), first);
  EXPECT_NE(drawn(other), first);
  one.clear();
  const Floats second = drawn(one);
  EXPECT_NE(second, first);
  same.clear();
  EXPECT_EQ(drawn(same), second);
}

TEST(GraphSeedsTest, ChoicesAreOfTheGraphToo) {
  const auto choices = [](std::uint64_t seed) {
    ComputationGraph graph;
    graph.set_seed(seed);
    Random first = graph.random();
    drawn(graph);
    Random second = graph.random();
    return std::vector<std::uint32_t>{first(), first(), second(), second()};
  };
  const std::vector<std::uint32_t> some = choices(1);
  EXPECT_EQ(choices(1), some);
  EXPECT_EQ(std::set<std::uint32_t>(some.begin(), some.end()).size(), 4u);
  EXPECT_NE(choices(2), some);
}

TEST(GraphSeedsTest, AMinibatchSeedsItsGraphs) {
  const auto all = [](Minibatch& batch) {
    std::set<Floats> different;
    for (int round = 0; round < 3; ++round) {
      for (int sample = 0; sample < 3; ++sample) different.insert(drawn(batch.new_graph()));
      batch.clear();
    }
    return different;
  };
  Minibatch one, same;
  GraphOptions options;
  options.seed = 1;
  Minibatch other(options);
  const std::set<Floats> first = all(one);
  EXPECT_EQ(first.size(), 9u);
  EXPECT_EQ(all(same), first);
  EXPECT_NE(all(other), first);
}

TEST(GraphSeedsTest, SeedsAreForSamplesToCome) {
  Minibatch batch;
  ComputationGraph alone;
  alone.set_seed(4);
  const Floats expected = drawn(alone);
  batch.seed_samples(std::vector<std::uint64_t>{3, 4});
  EXPECT_NE(drawn(batch.new_graph()), expected);
  EXPECT_EQ(drawn(batch.new_graph()), expected);
  EXPECT_NE(drawn(batch.new_graph()), expected);  // one that was given no seed
  EXPECT_EQ(message_of<UsageError>([&] { batch.seed_samples({}); }),
            "[seed_samples] need a minibatch without samples; got one with 3: clear() it first");
  batch.clear();
  for (int i = 0; i < 2; ++i) EXPECT_NE(drawn(batch.new_graph()), expected);  // seeds are for once
  batch.clear();
  batch.seed_samples(std::vector<std::uint64_t>{4});
  batch.clear();  // as a loop's body might
  EXPECT_EQ(drawn(batch.new_graph()), expected);
}

// The graph of a sample that has ended is used again, for another sample.
TEST(GraphSeedsTest, SamplesThatArriveDrawTheirOwn) {
  const auto all = [](std::size_t at_once, unsigned threads) {
    GraphOptions options;
    options.inference = true;
    options.threads = threads;
    Minibatch batch(options);
    std::vector<Floats> drawn_by(10);
    std::size_t come = 0;
    for_each_arriving(
        batch, at_once,
        [&](bool) -> std::optional<std::size_t> {
          return come < drawn_by.size() ? std::optional(come++) : std::nullopt;
        },
        [&](ComputationGraph& graph, std::size_t i) { drawn_by[i] = drawn(graph); });
    return drawn_by;
  };
  const std::vector<Floats> expected = all(1, 1);
  EXPECT_EQ(std::set<Floats>(expected.begin(), expected.end()).size(), 10u);
  EXPECT_EQ(all(3, 1), expected);
  EXPECT_EQ(all(5, 2), expected);
}

}  // namespace
}  // namespace dynet_like

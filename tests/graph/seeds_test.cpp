// The random numbers of a sample follow from its seed: the same bits in any minibatch, and alone.
#include <set>

#include "tests/support/message_of.h"
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Floats = std::vector<float>;

constexpr unsigned kWords = 7, kSize = 5;

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

TEST(SeedsTest, ASampleHasItsBitsInAnyMinibatch) {
  const Model model;
  const auto record = [&](ComputationGraph& graph, unsigned sample) {
    return testing::Sample{model.loss(graph, sample)};
  };
  const testing::Program program{model.parameters, record, 9, true};
  testing::expect_same_in_all_modes(program);
  const testing::Outcome all = testing::run(program);
  EXPECT_NE(all.values[0], all.values[3]);
  for (const unsigned first : {2u, 7u}) {  // at another place of a minibatch
    testing::Program some = program;
    some.first = first;
    some.samples = 2;
    const testing::Outcome found = testing::run(some);
    EXPECT_EQ(found.values,
              std::vector(all.values.begin() + first, all.values.begin() + first + 2));
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
  expect_refused<UsageError>("[dropout" + advice, [&] { dropout(x, 0.5f); });
  expect_refused<UsageError>("[random_normal" + advice, [&] { random_normal(graph, {3}); });
  expect_refused<UsageError>("[random" + advice, [&] { graph.random(); });
  graph.set_seed(5);
  graph.set_seed(6);
  const Floats first = drawn(graph);
  expect_refused<UsageError>(
      "[set_seed] need a graph without random numbers; got one that has drawn some: call it "
      "before, or after clear()",
      [&] { graph.set_seed(6); });
  graph.clear();
  EXPECT_THROW(drawn(graph), UsageError);
  graph.set_seed(6);
  EXPECT_EQ(drawn(graph), first);
  EXPECT_NE(drawn(graph), first);
}

TEST(GraphSeedsTest, NumbersOfAGraphAreThoseOfItsSeed) {
  GraphOptions options{.seed = 1};
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
  Minibatch other({.seed = 1});
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
  expect_refused<UsageError>(
      "[seed_samples] need a minibatch without samples; got one with 3: clear() it first",
      [&] { batch.seed_samples({}); });
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
    Minibatch batch({.threads = threads, .inference = true});
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

// for_each_arriving: samples that come while others run.
#include <stdexcept>
#include <utility>

#include "dynet_like/tape/tape.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"
#include "tests/support/walker.h"

namespace dynet_like {
namespace {

using testing::Walker, testing::kActions;

// Samples come in groups of uneven sizes; each has what it has alone, and memory stops growing.
TEST(ForEachArrivingTest, SamplesThatComeWhileOthersRun) {
  const Walker walker;
  std::vector<std::vector<float>> expected;
  for (unsigned i = 0; i < 14; ++i) {
    Minibatch alone;
    expected.push_back(walker.walk(alone.new_graph(), i).scores);
  }
  for (unsigned threads : {1u, 2u}) {
    Minibatch batch({.threads = threads, .inference = true});
    std::vector<std::vector<float>> seen(runs_slowly() ? 400 : 3000);
    std::size_t next = 0, asked = 0, most = 0;
    std::uint64_t bytes = 0;
    for_each_arriving(
        batch, 5,
        [&](bool idle) -> std::optional<std::size_t> {
          if (next == seen.size()) return std::nullopt;
          if (++asked % 4 == 0 && !idle) return std::nullopt;
          if (next == seen.size() / 2) most = next;
          return next++;
        },
        [&](ComputationGraph& graph, std::size_t sample) {
          seen[sample] = walker.walk(graph, sample % 14).scores;
        });
    bytes = batch.explain().value_bytes;
    for (std::size_t i = 0; i < seen.size(); ++i) ASSERT_EQ(seen[i], expected[i % 14]) << i;
    EXPECT_EQ(most, seen.size() / 2);
    EXPECT_LT(bytes, 200'000u);
    EXPECT_EQ(batch.size(), 5u);
  }
}

struct Swapped {
  explicit Swapped(unsigned seed) : model(seed) {}
  ParameterCollection model;
  Parameter w = model.add_parameters({3});
  Recursion<Expression> rnn =
      recursion<Expression>([w = w](const Expression& x, const std::vector<Expression>&) {
        return tanh(parameter(*x.pg, w) + x);
      });
};

// A server that runs for long, with ever new shapes and one model after the other: neither the
// types of shapes stay for ever, nor the models.
TEST(ForEachArrivingTest, ForgetsWhatItMetLongAgo) {
  constexpr unsigned kSamples = 12000, kOfAModel = 100;
  GraphOptions options{.inference = true};
  for (const unsigned threads : {1u, 2u}) {
    if (runs_slowly() && threads > 1) continue;
    options.threads = threads;
    Minibatch batch(options);
    std::vector<std::weak_ptr<ParameterStorage>> weights;
    std::shared_ptr<Swapped> swapped;
    std::size_t most_entries = 0;
    std::ptrdiff_t most_models = 0;
    std::vector<float> seen(kSamples);
    unsigned next = 0;
    const auto take =
        [&](bool idle) -> std::optional<std::pair<unsigned, std::shared_ptr<Swapped>>> {
      if (next == kSamples || (next % 7 == 0 && !idle)) return std::nullopt;
      if (next % kOfAModel == 0) {
        swapped = std::make_shared<Swapped>(next);
        weights.push_back(swapped->w.p);
        most_models = std::max(most_models, std::ranges::count_if(weights, [](const auto& weight) {
                                 return !weight.expired();
                               }));
      }
      return std::pair{next++, swapped};
    };
    for_each_arriving(batch, 5, take, [&](ComputationGraph& graph, const auto& sample) {
      const unsigned i = sample.first;
      if (threads == 1) most_entries = std::max(most_entries, graph.record().tape().types().size());
      const Expression x = tanh(zeros(graph, {1 + i % 100, 1 + i / 100}) + 1.0f);
      const Expression y = sample.second->rnn(Structure::sequence(2), zeros(graph, {3, 2})).last();
      seen[i] = as_scalar((mean_elems(x) + sum_elems(y)).value());
    });
    for (unsigned i = 0; i < kSamples; i += 997) {
      const Swapped same(i / kOfAModel * kOfAModel);
      ComputationGraph graph;
      const Expression x = tanh(zeros(graph, {1 + i % 100, 1 + i / 100}) + 1.0f);
      const Expression y = same.rnn(Structure::sequence(2), zeros(graph, {3, 2})).last();
      EXPECT_EQ(seen[i], as_scalar((mean_elems(x) + sum_elems(y)).value())) << i;
    }
    EXPECT_LT(most_entries, 30000u);
    EXPECT_LT(most_models, 30);
    EXPECT_LT(batch.explain().wave_count, 2000u);  // as the other counts, since it last forgot
    swapped = nullptr;
    batch.clear();
    for (const auto& weight : weights) EXPECT_TRUE(weight.expired());
  }
}

TEST(ForEachArrivingTest, NeedsInference) {
  Minibatch batch;
  EXPECT_THROW(
      for_each_arriving(
          batch, 4, [](bool) { return std::optional<int>(); }, [](ComputationGraph&, int) {}),
      UsageError);
}

TEST(ForEachArrivingTest, BranchesAreRevertedAndAnExceptionEndsIt) {
  const Walker walker;
  Minibatch batch({.inference = true});
  for (int round = 0; round < 2; ++round) {
    int next = 0;
    EXPECT_THROW(for_each_arriving(
                     batch, 3, [&](bool) { return std::optional<int>(next++); },
                     [&](ComputationGraph& graph, int sample) {
                       Expression state =
                           lookup(graph, walker.E, static_cast<unsigned>(sample) % kActions);
                       for (int step = 0; step < 2 + sample % 3; ++step) {
                         graph.checkpoint();
                         as_vector(tanh(state + lookup(graph, walker.E, 1u)).value());
                         graph.revert();
                         state = tanh(parameter(graph, walker.W) * state);
                         as_vector(state.value());
                       }
                       if (sample == 2000) throw std::runtime_error("mine");
                     }),
                 std::runtime_error);
    EXPECT_LT(batch.explain().value_bytes, 200'000u);
    batch.clear();
  }
}

TEST(ForEachArrivingTest, AnErrorNamesTheSampleAsItCame) {
  Minibatch batch({.inference = true});
  int next = 0;
  const std::string message = message_of<UsageError>([&] {
    for_each_arriving(
        batch, 2, [&](bool) { return std::optional<int>(next++); },
        [&](ComputationGraph& graph, int sample) {
          as_scalar(square(input(graph, 2.0f)).value());
          if (sample == 7) throw UsageError("mine");
        });
  });
  EXPECT_EQ(message, "mine, in sample 7");
}

// What is left of a batch of which others were reverted outlives it.
TEST(ForEachArrivingTest, SamplesOfManyMinibatchElementsAreReverted) {
  constexpr unsigned kElements = 1000;
  Minibatch batch({.inference = true});
  const std::vector<float> numbers(kElements, 0.5f);
  int next = 0;
  for_each_arriving(
      batch, 5,
      [&](bool) -> std::optional<int> {
        if (next == (runs_slowly() ? 300 : 3000)) return std::nullopt;
        return next++;
      },
      [&](ComputationGraph& graph, int sample) {
        const Expression x = input(graph, Dim({1}, kElements), numbers);
        graph.checkpoint();
        as_vector(tanh(x).value());
        if (sample % 2 == 0) graph.revert();
        EXPECT_EQ(as_vector((x + 1.0f).value()), std::vector<float>(kElements, 1.5f));
      });
  EXPECT_LT(batch.explain().value_bytes, 500'000u);
}

}  // namespace
}  // namespace dynet_like

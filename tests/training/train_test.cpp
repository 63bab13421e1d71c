// Training in one call: the bits of the loop that it stands for.
#include <csignal>

#include "tests/support/message_of.h"
#include "tests/support/one_weight.h"
#include "tests/support/precompiled.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

TrainingOptions quiet_options() {
  TrainingOptions options;
  options.epochs = 3;
  options.batch_size = 7;
  options.graph.threads = 1;
  options.report.lines = nullptr;
  options.stopping.watch_interrupts = false;
  return options;
}

/// A sample may look at a value on the way, and decide by it.
std::vector<float> train_in_one_call(const TrainingOptions& options, bool asks = false) {
  Program program(kPlain);
  const TrainingProgress progress = train(
      program.trainer, kSamples,
      [&](ComputationGraph& graph, std::size_t i) {
        const Expression loss = program.loss(graph, static_cast<std::uint32_t>(i));
        return asks && as_scalar(loss.value()) > 3 ? loss * 2.0f : loss;
      },
      options);
  EXPECT_EQ(progress.epochs, options.epochs);
  EXPECT_FALSE(progress.interrupted);
  return program.values();
}

TEST(TrainTest, HasTheBitsOfTheLoop) {
  TrainingOptions options = quiet_options();
  Program program(kPlain);
  TrainingRun run(program.trainer, options);
  while (run.next_epoch(kSamples)) {
    while (run.next(*program.batch)) {
      for (const std::uint32_t sample : run.samples()) {
        program.batch->add_loss(program.loss(program.batch->new_graph(), sample));
      }
      run.update(*program.batch);
    }
    run.finish_epoch();
  }
  for (const unsigned threads : {0u, 1u, 2u, 4u}) {
    options.graph.threads = threads;
    EXPECT_EQ(train_in_one_call(options), program.values()) << threads << " threads";
  }
}

TEST(TrainTest, ResultsDoNotDependOnThreadsOrRanks) {
  for (const bool asks : {false, true}) {
    TrainingOptions options = quiet_options();
    for (std::uint32_t i = 0; i < kSamples; ++i) {
      options.sizes.push_back(static_cast<std::uint32_t>(Program::sentence(i).size()));
    }
    options.ranks.shards = 4;
    const std::vector<float> expected = train_in_one_call(options, asks);
    options.graph.threads = 4;
    EXPECT_EQ(train_in_one_call(options, asks), expected);
    for (const unsigned ranks : {2u, 3u}) {
      run_ranks(ranks, [&](const Ranks& all) {
        TrainingOptions shared = options;
        shared.ranks.communicator = all;
        shared.graph.threads = 1 + all->rank();
        EXPECT_EQ(train_in_one_call(shared, asks), expected);
      });
    }
  }
}

// What a sample draws in an epoch depends on nothing but the sample.
TEST(TrainTest, SamplesDrawTheSameInAnyMinibatch) {
  constexpr std::size_t kDrawing = 20;
  const auto drawn = [&](unsigned batch_size, unsigned shards, std::uint64_t seed) {
    OneWeight one;
    TrainingOptions options = quiet_options();
    options.batch_size = batch_size;
    options.ranks.shards = shards;
    options.seed = seed;
    std::vector<std::vector<std::uint32_t>> all(kDrawing);  // by sample, of all epochs
    train(
        one.trainer, kDrawing,
        [&](ComputationGraph& graph, std::size_t i) {
          all[i].push_back(graph.random()());
          const Tensor mask = dropout(ones(graph, {30}), 0.5f).value();
          for (const float x : as_vector(mask)) all[i].back() = 3 * all[i].back() + (x > 0);
          return parameter(graph, one.w);
        },
        options);
    return all;
  };
  const auto expected = drawn(1, 1, 1);
  EXPECT_NE(expected[0], expected[1]);
  EXPECT_EQ(expected[0].size(), 3u);
  EXPECT_NE(expected[0][0], expected[0][1]);
  EXPECT_EQ(drawn(7, 1, 1), expected);
  EXPECT_EQ(drawn(20, 1, 1), expected);
  EXPECT_EQ(drawn(9, 3, 1), expected);
  EXPECT_NE(drawn(7, 1, 2), expected);
}

TEST(TrainTest, TakesSeveralLossesOrNone) {
  const std::vector<float> slopes = {1, 2, 3, 4};
  TrainingOptions options = quiet_options();
  options.batch_size = 2;
  OneWeight as_one, as_many;
  train(
      as_one.trainer, slopes,
      [&](ComputationGraph& graph, float slope) {
        return slope == 3 ? zeros(graph, {1}) : parameter(graph, as_one.w) * (2 * slope);
      },
      options);
  train(
      as_many.trainer, std::span(slopes),
      [&](ComputationGraph& graph, float slope) {
        const Expression x = parameter(graph, as_many.w) * slope;
        return slope == 3 ? std::vector<Expression>() : std::vector<Expression>{x, x};
      },
      options);
  EXPECT_EQ(as_many.value(), as_one.value());
  EXPECT_NE(as_many.value(), 8);
}

TEST(TrainTest, LossesAreMeansUnlessTheyAreSums) {
  for (const bool sums : {false, true}) {
    OneWeight one;
    TrainingOptions options = quiet_options();
    options.epochs = 1;
    options.sum_losses = sums;
    train(
        one.trainer, 4,
        [&](ComputationGraph& graph, std::size_t) { return parameter(graph, one.w); }, options);
    EXPECT_EQ(one.value(), sums ? 4 : 7);
  }
}

TEST(TrainTest, GoesOnWithTheSameBits) {
  TrainingOptions options = quiet_options();
  double score = 0;
  options.stopping.dev_score = [&] { return ++score; };
  const std::vector<float> expected = train_in_one_call(options);
  EXPECT_EQ(score, 3);
  // The second epoch is not completed.
  options.files.folder = new_folder("train_parts");
  options.stopping.watch_interrupts = true;
  Program first(kPlain);
  int calls = 0;
  const TrainingProgress progress = train(
      first.trainer, kSamples,
      [&](ComputationGraph& graph, std::size_t i) {
        if (++calls == 70) std::raise(SIGINT);
        return first.loss(graph, static_cast<std::uint32_t>(i));
      },
      options);
  EXPECT_TRUE(progress.interrupted);
  EXPECT_EQ(progress.epochs, 1u);
  EXPECT_GT(progress.minibatches, 0u);
  options.files.resume = true;
  EXPECT_EQ(train_in_one_call(options), expected);
}

// An epoch's line has the speed of all epochs so far, this one included.
TEST(TrainTest, EveryLineHasASpeed) {
  std::ostringstream lines;
  TrainingOptions options = quiet_options();
  options.report.lines = &lines;
  train_in_one_call(options);
  EXPECT_TRUE(mentions(lines.str(), " samples/s"));
  EXPECT_FALSE(mentions(lines.str(), " 0 samples/s"));
}

TEST(TrainTest, RefusesWhatMakesNoSense) {
  const auto refusal = [](const std::function<void(TrainingOptions&)>& change) {
    TrainingOptions options = quiet_options();
    change(options);
    return message_of<UsageError>([&] { train_in_one_call(options); });
  };
  EXPECT_EQ(refusal([](auto& options) {
              options.sizes = {1, 2};
            }),
            "[TrainingRun] need a size per sample, or none; got 2 for 50");
  EXPECT_EQ(refusal([](auto& options) { options.stopping.patience = 2; }),
            "[train] need StoppingOptions::dev_score to have patience; got none");
  OneWeight one;
  const auto fail = [&](ComputationGraph& graph, std::size_t i) {
    if (i == 2) throw StateError("no");
    return parameter(graph, one.w);
  };
  EXPECT_EQ(message_of<StateError>([&] {
              train(one.trainer, 4, fail, quiet_options());
            }).find("no, in sample "),
            0u);
}

}  // namespace
}  // namespace dynet_like::nn

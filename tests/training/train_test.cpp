// Training in one call: the bits of the loop that it stands for.
#include <csignal>
#include <filesystem>
#include <sstream>
#include <span>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"
#include "nn/train.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/device_memory.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

constexpr unsigned kWords = 12;

struct Sample {
  std::vector<unsigned> words;
  unsigned label = 0;
};

std::vector<Sample> some_samples(std::size_t count) {
  std::vector<Sample> samples(count);
  Random random(4);
  for (Sample& sample : samples) {
    sample.words.resize(1 + random.below(6));
    for (unsigned& word : sample.words) word = 1 + random.below(kWords - 1);
    sample.label = sample.words.front() % 2;
  }
  return samples;
}

/// An LSTM with dropout of words and of states; it may look at a value on the way.
struct Model {
  ParameterCollection parameters{2};
  Embedding embedding{parameters, kWords, 6};
  LSTM lstm{parameters, 6, 6};
  Linear output{parameters, 6, 2};
  AdamTrainer trainer{parameters, 0.02f};
  bool asks = false;

  Expression loss(ComputationGraph& graph, const Sample& sample) const {
    LSTM::State state = lstm.start(graph);
    for (const unsigned word : drop_words(graph, sample.words, 0, 0.2f)) {
      state = lstm.step(state, dropout(embedding(graph, word), 0.2f));
    }
    Expression scores = output(dropout(state.h, 0.3f));
    if (asks && as_scalar(pick(scores, 0).value()) > 0) scores = scores * 2.0f;
    return cross_entropy(scores, sample.label);
  }
  std::vector<float> values() const { return values_of(parameters); }
};

TrainingOptions quiet_options() {
  TrainingOptions options;
  options.epochs = 3;
  options.batch_size = 7;
  options.report.lines = nullptr;
  options.stopping.watch_interrupts = false;
  return options;
}

std::vector<float> train_in_one_call(const std::vector<Sample>& samples,
                                     const TrainingOptions& options, bool asks = false) {
  Model model;
  model.asks = asks;
  const TrainingProgress progress = train(
      model.trainer, samples,
      [&](ComputationGraph& graph, const Sample& sample) { return model.loss(graph, sample); },
      options);
  EXPECT_EQ(progress.epochs, options.epochs);
  EXPECT_FALSE(progress.interrupted);
  return model.values();
}

TEST(TrainTest, HasTheBitsOfTheLoop) {
  const std::vector<Sample> samples = some_samples(40);
  const std::vector<float> expected = [&] {
    Model model;
    TrainingRun run(model.trainer, quiet_options());
    Minibatch batch;
    while (run.next_epoch(samples.size())) {
      while (run.next(batch)) {
        const auto& some = run.samples();
        for (const std::uint32_t i : some) {
          batch.add_loss(model.loss(batch.new_graph(), samples[i]));
        }
        run.update(batch);
      }
      run.finish_epoch();
    }
    return model.values();
  }();
  for (const unsigned threads : {0u, 1u, 2u, 4u}) {
    TrainingOptions options = quiet_options();
    options.graph.threads = threads;
    EXPECT_EQ(train_in_one_call(samples, options), expected) << threads << " threads";
  }
}

TEST(TrainTest, ResultsDoNotDependOnThreadsShardsOrRanks) {
  const std::vector<Sample> samples = some_samples(30);
  for (const bool asks : {false, true}) {
    TrainingOptions options = quiet_options();
    for (const Sample& sample : samples) options.sizes.push_back(sample.words.size());
    options.graph.threads = 1;
    options.ranks.shards = 4;
    const std::vector<float> expected = train_in_one_call(samples, options, asks);
    options.graph.threads = 4;
    EXPECT_EQ(train_in_one_call(samples, options, asks), expected);
    for (const unsigned ranks : {2u, 3u}) {
      run_ranks(ranks, [&](const std::shared_ptr<Communicator>& all) {
        TrainingOptions shared = options;
        shared.ranks.communicator = all;
        shared.graph.threads = 1 + all->rank();
        EXPECT_EQ(train_in_one_call(samples, shared, asks), expected);
      });
    }
  }
}

// What a sample draws in an epoch depends on nothing but the sample.
TEST(TrainTest, SamplesDrawTheSameInAnyMinibatch) {
  constexpr std::size_t kSamples = 20;
  const auto drawn = [&](unsigned batch_size, unsigned shards, std::uint64_t seed) {
    ParameterCollection model;
    const Parameter w = model.add_parameters({1});
    SimpleSGDTrainer trainer(model);
    TrainingOptions options = quiet_options();
    options.batch_size = batch_size;
    options.ranks.shards = shards;
    options.seed = seed;
    std::vector<std::vector<std::uint32_t>> all(kSamples);  // by sample, of all epochs
    train(
        trainer, kSamples,
        [&](ComputationGraph& graph, std::size_t i) {
          all[i].push_back(graph.random()());
          const Tensor mask = dropout(ones(graph, {30}), 0.5f).value();
          for (const float x : as_vector(mask)) all[i].back() = 3 * all[i].back() + (x > 0);
          return parameter(graph, w);
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
  const auto trained = [](bool as_one) {
    ParameterCollection model(3);
    const Parameter w = model.add_parameters({1});
    SimpleSGDTrainer trainer(model, 0.1f);
    const std::vector<float> slopes = {1, 2, 3, 4};
    TrainingOptions options = quiet_options();
    options.batch_size = 2;
    if (as_one) {
      train(
          trainer, slopes,
          [&](ComputationGraph& graph, float slope) {
            return slope == 3 ? zeros(graph, {1}) : parameter(graph, w) * (2 * slope);
          },
          options);
    } else {
      train(
          trainer, std::span(slopes),
          [&](ComputationGraph& graph, float slope) {
            const Expression x = parameter(graph, w) * slope;
            return slope == 3 ? std::vector<Expression>() : std::vector<Expression>{x, x};
          },
          options);
    }
    return as_scalar(w.values());
  };
  EXPECT_EQ(trained(false), trained(true));
}

TEST(TrainTest, LossesAreMeansUnlessTheyAreSums) {
  const auto trained = [](bool sums) {
    ParameterCollection model;
    const Parameter w = model.add_parameters({1}, ParameterInitConst(8));
    SimpleSGDTrainer trainer(model, 1);
    TrainingOptions options = quiet_options();
    options.epochs = 1;
    options.sum_losses = sums;
    train(
        trainer, 4, [&](ComputationGraph& graph, std::size_t) { return parameter(graph, w); },
        options);
    return as_scalar(w.values());
  };
  EXPECT_EQ(trained(false), 7);
  EXPECT_EQ(trained(true), 4);
}

TEST(TrainTest, GoesOnWithTheSameBits) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "train_parts";
  std::filesystem::remove_all(folder);
  const std::vector<Sample> samples = some_samples(25);
  TrainingOptions options = quiet_options();
  double score = 0;
  options.stopping.dev_score = [&] { return ++score; };
  const std::vector<float> expected = train_in_one_call(samples, options);
  EXPECT_EQ(score, 3);
  // The second epoch is not completed.
  options.files.folder = folder;
  options.stopping.watch_interrupts = true;
  Model first;
  int calls = 0;
  options.graph.threads = 1;
  const TrainingProgress progress = train(
      first.trainer, samples,
      [&](ComputationGraph& graph, const Sample& sample) {
        if (++calls == 35) std::raise(SIGINT);
        return first.loss(graph, sample);
      },
      options);
  EXPECT_TRUE(progress.interrupted);
  EXPECT_EQ(progress.epochs, 1u);
  EXPECT_GT(progress.minibatches, 0u);
  options.files.resume = true;
  EXPECT_EQ(train_in_one_call(samples, options), expected);
}

// An epoch's line has the speed of all epochs so far, this one included.
TEST(TrainTest, EveryLineHasASpeed) {
  std::ostringstream lines;
  TrainingOptions options = quiet_options();
  options.report.lines = &lines;
  train_in_one_call(some_samples(40), options);
  EXPECT_NE(lines.str().find(" samples/s"), std::string::npos) << lines.str();
  EXPECT_EQ(lines.str().find(" 0 samples/s"), std::string::npos) << lines.str();
}

TEST(TrainTest, RefusesWhatMakesNoSense) {
  const std::vector<Sample> samples = some_samples(4);
  TrainingOptions options = quiet_options();
  options.sizes = {1, 2};
  EXPECT_EQ(message_of<UsageError>([&] { train_in_one_call(samples, options); }),
            "[TrainingRun] need a size per sample, or none; got 2 for 4");
  options.sizes = {};
  options.stopping.patience = 2;
  EXPECT_EQ(message_of<UsageError>([&] { train_in_one_call(samples, options); }),
            "[train] need StoppingOptions::dev_score to have patience; got none");
  options.stopping.patience = 0;
  Model model;
  const auto fail = [&](ComputationGraph& graph, const Sample& sample) {
    if (&sample == &samples[2]) throw StateError("no");
    return model.loss(graph, sample);
  };
  options.sizes = {1, 2, 3, 4};
  EXPECT_EQ(message_of<StateError>([&] {
              train(model.trainer, samples, fail, options);
            }).find("no, in sample "),
            0u);
}

}  // namespace
}  // namespace dynet_like::nn

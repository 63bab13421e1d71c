// Training runs: the best model, updates, signals, and what is refused.
#include <cmath>
#include <csignal>
#include <functional>
#include <limits>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

const Setting kPlain = {"plain"};

TEST(TrainingRunsTest, TheBestModelIsLoadedAtTheEnd) {
  for (const std::string& folder : {std::string(), new_folder("best")}) {
    Program program(kPlain, folder);
    const std::vector<double> scores = {0.25, 0.75, 0.5};
    std::vector<std::vector<float>> values;
    while (program.run->next_epoch()) {
      for (const auto& samples : program.run->minibatches(*program.batch, kSamples)) {
        program.batch->add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
          return program.loss(graph, samples[i], false);
        });
        program.run->update(*program.batch);
      }
      values.push_back(program.values());
      program.run->finish_epoch(scores[values.size() - 1]);
    }
    EXPECT_EQ(program.values(), values[1]);
    EXPECT_NE(values[2], values[1]);
    EXPECT_EQ(program.run->progress().best_epoch, 2u);
    EXPECT_EQ(program.run->curve().value("dev score", 3), 0.5);
  }
}

TEST(TrainingRunsTest, WithoutDevSamplesTheLastModelIsTheBest) {
  Program program(kPlain, "");
  while (program.run->next_epoch()) {
    for ([[maybe_unused]] const auto& samples :
         program.run->minibatches(*program.batch, kSamples)) {
    }
    program.run->finish_epoch();
  }
  EXPECT_EQ(program.run->progress().best_epoch, 3u);
  EXPECT_EQ(program.run->progress().updates, 0u);
}

TEST(TrainingRunsTest, RandomNumbersAreOfTheirMinibatch) {
  Program program(kPlain, "");
  std::set<std::uint64_t> drawn;
  while (program.run->next_epoch()) {
    for ([[maybe_unused]] const auto& samples :
         program.run->minibatches(*program.batch, kSamples)) {
      drawn.insert(program.run->random()());
    }
    program.run->finish_epoch();
  }
  EXPECT_EQ(drawn.size(), 3u * 7);
}

TEST(TrainingRunsTest, PatienceEndsTraining) {
  Setting setting = {"patience", [](TrainingOptions& options) {
                       options.epochs = 100;
                       options.patience = 3;
                     }};
  Program program(setting, "");
  unsigned epoch = 0;
  while (program.run->next_epoch()) {
    for ([[maybe_unused]] const auto& samples :
         program.run->minibatches(*program.batch, kSamples)) {
    }
    program.run->finish_epoch(++epoch == 4 ? 1.0 : 0.5);
  }
  EXPECT_EQ(program.run->progress().epochs, 7u);
  EXPECT_EQ(program.run->progress().best_epoch, 4u);
  EXPECT_EQ(epoch, 7u);
}

TEST(TrainingRunsTest, ScoresThatAreNoNumbersFailOrAreNeverTheBest) {
  for (const NotFinite not_finite : {NotFinite::fail, NotFinite::skip}) {
    Setting setting = kPlain;
    const auto set = setting.options;
    setting.options = [&](TrainingOptions& options) {
      if (set) set(options);
      options.not_finite = not_finite;
    };
    Program program(setting, "");
    const std::string message = message_of<NumericError>([&] {
      while (program.run->next_epoch()) {
        for ([[maybe_unused]] const auto& samples :
             program.run->minibatches(*program.batch, kSamples)) {
        }
        program.run->finish_epoch(std::nan(""));
      }
    });
    const bool fails = not_finite == NotFinite::fail;
    EXPECT_EQ(message, fails ? "[TrainingRun] need a number as the dev score of epoch 1; got nan: "
                               "are there dev samples?"
                             : "nothing was thrown");
    EXPECT_EQ(program.run->progress().best_epoch, 0u);
    if (!fails) continue;
    program.run->finish_epoch(0.5);
    EXPECT_EQ(program.run->progress().best_epoch, 1u);
  }
}

// Ctrl-C in an evaluation, and signals after the run.
TEST(TrainingRunsTest, SignalsStopIt) {
  const std::string folder = new_folder("signals");
  Program whole(kPlain, "");
  whole.train();
  Program first(kPlain, folder);
  while (first.run->next_epoch()) {
    for ([[maybe_unused]] const auto& samples : first.run->minibatches(*first.batch, kSamples)) {
      for (const std::uint32_t sample : samples) {
        first.batch->add_loss(first.loss(first.batch->new_graph(), sample, true));
      }
      first.run->update(*first.batch);
    }
    first.run->finish_epoch([&] {
      std::raise(SIGINT);
      return first.dev_score();
    });
  }
  EXPECT_TRUE(first.run->interrupted());
  EXPECT_EQ(first.run->progress().epochs, 1u);
  struct sigaction now = {};
  sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
  first.run.reset();
  Program second(kPlain, folder, true);
  second.train();
  EXPECT_EQ(second.values(), whole.values());
}

// Whoever looks for it himself, and leaves the loop, has a checkpoint, too.
TEST(TrainingRunsTest, StoppedAndLeft) {
  struct Left {};
  Program whole(kPlain, "");
  whole.train();
  const std::string folder = new_folder("left");
  Program first(kPlain, folder);
  EXPECT_THROW(first.train({},
                           [](TrainingRun& run, int minibatch) {
                             if (minibatch < 9) return;
                             run.stop();
                             throw Left();
                           }),
               Left);
  EXPECT_FALSE(first.run->next_epoch());
  first.run.reset();
  Program second(kPlain, folder, true);
  EXPECT_EQ(second.run->progress().minibatches, 3u);
  second.train();
  EXPECT_EQ(second.values(), whole.values());
}

TEST(TrainingRunsTest, AFinishedRunGoesOnWithMoreEpochs) {
  const std::string folder = new_folder("more");
  const auto epochs = [](unsigned number) {
    return [number](TrainingOptions& options) { options.epochs = number; };
  };
  Program(kPlain, folder, false, epochs(1)).train();
  Program more(kPlain, folder, true, epochs(3));
  more.train();
  Program whole(kPlain, "", false, epochs(3));
  whole.train();
  EXPECT_EQ(more.values(), whole.values());
}

TEST(TrainingRunsTest, AnEpochGoesOnWithTheSameSamplesOnly) {
  const std::string folder = new_folder("samples");
  Program(kPlain, folder).train([](TrainingRun& run, int minibatch) {
    if (minibatch == 2) run.stop();
  });
  Program other(kPlain, folder, true);
  ASSERT_TRUE(other.run->next_epoch());
  EXPECT_THROW(other.run->minibatches(*other.batch, kSamples + 1), UsageError);
  EXPECT_THROW(other.run->minibatches(*other.batch, Minibatches()), UsageError);
  int left = 0;
  for ([[maybe_unused]] const auto& samples : other.run->minibatches(*other.batch, kSamples))
    ++left;
  EXPECT_EQ(left, 4);
}

// Shards are cut by sizes, so the same minibatches have other shards.
TEST(TrainingRunsTest, AnEpochGoesOnWithTheSameSizesOnly) {
  const std::string folder = new_folder("sizes");
  const Minibatches list = {{0, 1, 2}, {3, 4, 5}};
  const auto sizes = [](std::uint32_t first) {
    return std::vector<std::uint32_t>{first, 2, 2, 2, 2, 2};
  };
  const auto two_shards = [](TrainingOptions& options) { options.shards = 2; };
  Program program(kPlain, folder, false, two_shards);
  ASSERT_TRUE(program.run->next_epoch());
  const std::vector<std::uint32_t> before = sizes(2);
  for (const auto& samples : program.run->minibatches(*program.batch, list, before)) {
    for (const std::uint32_t sample : samples) {
      program.batch->add_loss(program.loss(program.batch->new_graph(), sample, false));
    }
    program.run->update(*program.batch);
    program.run->stop();
  }
  program.run.reset();
  Program other(kPlain, folder, true, two_shards);
  ASSERT_TRUE(other.run->next_epoch());
  const std::vector<std::uint32_t> after = sizes(9);
  EXPECT_EQ(message_of<UsageError>([&] { other.run->minibatches(*other.batch, list, after); }),
            "[TrainingRun] need the same minibatches and sizes to go on with epoch 1 after 1 of "
            "them; got others");
  EXPECT_NO_THROW(other.run->minibatches(*other.batch, list, before));
}

TEST(TrainingRunsTest, CallsOutOfOrderAreRefused) {
  Program program(kPlain, "");
  TrainingRun& run = *program.run;
  EXPECT_THROW(run.minibatches(*program.batch, kSamples), UsageError);
  EXPECT_THROW(run.finish_epoch(1), UsageError);
  EXPECT_THROW(run.update(*program.batch), UsageError);
  EXPECT_THROW(run.save(), UsageError);
  EXPECT_THROW(run.note("epoch", 1), UsageError);
  ASSERT_TRUE(run.next_epoch());
  EXPECT_THROW(run.finish_epoch(1), UsageError);
  EXPECT_THROW(run.update(*program.batch), UsageError);
  for ([[maybe_unused]] const auto& samples : run.minibatches(*program.batch, kSamples)) {
    EXPECT_THROW(run.minibatches(*program.batch, kSamples), UsageError);
  }
  EXPECT_THROW(run.next_epoch(), UsageError);
  program.trainer.exponential_moving_average(0.5f);
  EXPECT_THROW(run.finish_epoch(1), UsageError);
  run.finish_epoch([] { return 1; });
}

// Accumulated minibatches are one large minibatch, bit for bit on the CPU.
TEST(TrainingRunsTest, AccumulationIsOneLargeMinibatch) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "sums of another order have other bits";
  const auto train = [](unsigned batch_size, unsigned accumulate, bool mean) {
    ParameterCollection model;
    const Embedding numbers(model, kSamples, 4);
    const Linear output(model, 4, 2);
    SimpleSGDTrainer trainer(model, 0.5f);
    TrainingOptions options;
    options.epochs = 2;
    options.batch_size = batch_size;
    options.accumulate = accumulate;
    options.sum_losses = !mean;
    options.lines = nullptr;
    TrainingRun run(model, trainer, options);
    Minibatches list(1);
    for (std::uint32_t sample = 0; sample < kSamples; ++sample) {
      if (list.back().size() == batch_size) list.emplace_back();
      list.back().push_back(sample);
    }
    Minibatch batch;
    while (run.next_epoch()) {
      for (const auto& samples : run.minibatches(batch, list)) {
        batch.add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
          return cross_entropy(output(numbers(graph, samples[i])), samples[i] % 2);
        });
        run.update(batch);
      }
      run.finish_epoch();
    }
    std::vector<float> values = as_vector(output.weights().values());
    values.push_back(static_cast<float>(run.progress().updates));
    EXPECT_EQ(run.progress().updates, options.updates(kSamples));
    return values;
  };
  for (const bool mean : {false, true}) {
    EXPECT_EQ(train(5, 2, mean), train(10, 1, mean));
    EXPECT_EQ(train(5, 4, mean), train(20, 1, mean));  // the last update has fewer
  }
  EXPECT_NE(train(10, 1, false), train(10, 1, true));
}

/// A model of one weight, whose gradient is what it is told.
struct OneWeight {
  ParameterCollection model;
  Parameter w = model.add_parameters({1}, ParameterInitConst(8));
  SimpleSGDTrainer trainer = SimpleSGDTrainer(model, 1);
  Minibatch batch;

  void add_loss(float slope) {
    batch.clear();
    batch.add_loss(parameter(batch.new_graph(), w) * slope);
  }
};

TEST(TrainingRunsTest, MeansAreOfLosses) {
  OneWeight one;
  TrainingOptions options;
  options.accumulate = 2;
  options.lines = nullptr;
  TrainingRun run(one.model, one.trainer, options);
  ASSERT_TRUE(run.next_epoch());
  for ([[maybe_unused]] const auto& samples : run.minibatches(one.batch, Minibatches{{0}, {1}})) {
    one.add_loss(3);
    EXPECT_EQ(run.update(one.batch, 2), 24.0f);
  }
  EXPECT_EQ(as_scalar(one.w.values()), 8 - 6.0f / 4);
  EXPECT_EQ(run.progress().mean_loss(), 12);
}

// Of the weights 7 and 6. Exponential averages begin at zero, and that is corrected.
TEST(TrainingRunsTest, TheBestModelHasTheAverages) {
  for (const bool is_exponential : {false, true}) {
    OneWeight one;
    is_exponential ? one.trainer.exponential_moving_average(0.5f)
                   : one.trainer.cumulative_moving_average();
    const float average = is_exponential ? (7 * 0.25f + 6 * 0.5f) / 0.75f : 6.5f;
    TrainingOptions options;
    options.epochs = 1;
    options.lines = nullptr;
    TrainingRun run(one.model, one.trainer, options);
    ASSERT_TRUE(run.next_epoch());
    for ([[maybe_unused]] const auto& samples : run.minibatches(one.batch, Minibatches{{0}, {1}})) {
      one.add_loss(1);
      run.update(one.batch);
    }
    // An evaluation that fails leaves the weights in their place.
    EXPECT_THROW(run.finish_epoch([]() -> double { throw StateError("no"); }), StateError);
    EXPECT_EQ(as_scalar(one.w.values()), 6.0f);
    run.finish_epoch([&] { return static_cast<double>(as_scalar(one.w.values())); });
    EXPECT_EQ(as_scalar(one.w.values()), 6.0f);
    EXPECT_FLOAT_EQ(static_cast<float>(run.progress().best_score), average);
    EXPECT_FALSE(run.next_epoch());
    EXPECT_FLOAT_EQ(as_scalar(one.w.values()), average);
  }
}

TEST(InterruptWatchTest, SeveralShareTheSignals) {
  const auto is_default = [] {
    struct sigaction now = {};
    sigaction(SIGTERM, nullptr, &now);
    return now.sa_handler == SIG_DFL;
  };
  {
    const InterruptWatch first;
    {
      const InterruptWatch second;
      EXPECT_FALSE(second.interrupted());
      std::raise(SIGTERM);
      EXPECT_TRUE(second.interrupted());
    }
    EXPECT_TRUE(first.interrupted());
  }
  EXPECT_TRUE(is_default());
  const InterruptWatch later;
  EXPECT_FALSE(later.interrupted());
  EXPECT_FALSE(is_default());
}

TrainingOptions two_epochs_that_skip(std::ostream& lines) {
  TrainingOptions options;
  options.epochs = 2;
  options.not_finite = NotFinite::skip;
  options.lines = &lines;
  return options;
}

TEST(TrainingRunsTest, AnEpochWithoutUpdatesHasNoLoss) {
  std::ostringstream lines;
  const TrainingOptions options = two_epochs_that_skip(lines);
  OneWeight one;
  TrainingRun run(one.model, one.trainer, options);
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(one.batch, Minibatches{{0}})) {
      const bool is_bad = run.progress().epochs == samples[0];
      one.add_loss(is_bad ? std::numeric_limits<float>::infinity() : 1);
      run.update(one.batch);
    }
    run.finish_epoch();
  }
  EXPECT_EQ(run.curve().value("train loss", 1), std::nullopt);
  EXPECT_TRUE(run.curve().value("train loss", 2));
  const std::string text = lines.str();
  EXPECT_NE(text.find("epoch 1/2: no loss, "), std::string::npos) << text;
  EXPECT_NE(text.find("epoch 2/2: loss "), std::string::npos) << text;
}

TEST(TrainingRunsTest, GradientsThatAreNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::ostringstream lines;
  TrainingOptions options = two_epochs_that_skip(lines);
  {
    OneWeight one;
    TrainingRun run(one.model, one.trainer, options);
    while (run.next_epoch()) {
      for (const auto& samples : run.minibatches(one.batch, Minibatches{{0}, {1}, {2}})) {
        const bool is_bad = run.progress().epochs == 0 && samples[0] == 1;
        one.add_loss(is_bad ? infinity : 1);
        run.update(one.batch);
      }
      run.finish_epoch();
    }
    EXPECT_EQ(as_scalar(one.w.values()), 3.0f);
    EXPECT_EQ(run.progress().updates, 5u);
    EXPECT_EQ(run.progress().skipped, 1u);
    EXPECT_EQ(run.curve().value("train loss", 1), 7.5);
    const std::string text = lines.str();
    EXPECT_NE(text.find("epoch 1/2: loss 7.5000, "), std::string::npos) << text;
    EXPECT_NE(text.find(", 1 update skipped\n"), std::string::npos) << text;
    EXPECT_EQ(text.find("skipped", text.find("epoch 2/2")), std::string::npos) << text;
  }
  options.not_finite = NotFinite::fail;
  OneWeight one;
  TrainingRun run(one.model, one.trainer, options);
  ASSERT_TRUE(run.next_epoch());
  const auto train = [&](float slope) {
    for ([[maybe_unused]] const auto& samples : run.minibatches(one.batch, Minibatches{{0}})) {
      one.add_loss(slope);
      run.update(one.batch);
    }
  };
  EXPECT_THROW(train(infinity), NumericError);
  EXPECT_EQ(as_scalar(one.w.values()), 8.0f);
  ASSERT_TRUE(run.next_epoch());  // the epoch goes on
  train(1);
  EXPECT_EQ(as_scalar(one.w.values()), 7.0f);
}

TEST(TrainingRunsTest, GradientsOfYourOwn) {
  OneWeight one;
  TrainingOptions options;
  options.accumulate = 2;
  options.lines = nullptr;
  TrainingRun run(one.model, one.trainer, options);
  ASSERT_TRUE(run.next_epoch());
  for ([[maybe_unused]] const auto& samples :
       run.minibatches(one.batch, Minibatches{{0}, {1}, {2}})) {
    if (samples[0] == 1) continue;  // the last of an update is passed over
    ComputationGraph graph;
    const Gradients& gradients = graph.backward(parameter(graph, one.w) * 2);
    run.update(gradients, 1.5, 1);
  }
  EXPECT_EQ(as_scalar(one.w.values()), 4.0f);
  EXPECT_EQ(run.progress().updates, 2u);
  EXPECT_EQ(run.progress().mean_loss(), 1.5);
}

TEST(TrainingRunsTest, RatesFollowSchedules) {
  OneWeight one;
  TrainingOptions options;
  options.lines = nullptr;
  options.epochs = 4;
  options.plateau = Plateau{.factor = 0.25f, .patience = 1};
  one.trainer.learning_rate = 0.5f;
  TrainingRun run(one.model, one.trainer, options);
  std::vector<float> rates;
  while (run.next_epoch()) {
    rates.push_back(one.trainer.learning_rate);
    for ([[maybe_unused]] const auto& samples : run.minibatches(one.batch, Minibatches{{0}})) {
      one.add_loss(1);
      run.update(one.batch);
    }
    run.finish_epoch(1);
  }
  EXPECT_EQ(rates, (std::vector<float>{0.5f, 0.5f, 0.5f, 0.125f}));
}

}  // namespace
}  // namespace dynet_like::nn

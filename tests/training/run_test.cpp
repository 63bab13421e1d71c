// Training runs: epochs, the best model, means, gradients, signals, rates, and the timeline; and
// the same bits however they come to their end, whatever they are told to do: stopped, killed or
// failing anywhere, with any number of threads and ranks, and by a server.
#include <csignal>
#include <mutex>
#include <set>

#include "tests/support/message_of.h"
#include "tests/support/one_weight.h"
#include "tests/support/precompiled.h"
#include "tests/support/timeline_events.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

TEST(TrainingRunsTest, TheBestModelIsLoadedAtTheEnd) {
  for (const std::string& folder : {std::string(), new_folder("best")}) {
    Program program(kPlain, folder);
    const std::vector<double> scores = {0.25, 0.75, 0.5};
    std::vector<std::vector<float>> values;
    while (program.run->next_epoch(kSamples)) {
      while (program.run->next(*program.batch)) {
        program.record();
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

/// Whether a score is the best, by its epoch; the run ends early if it has patience.
struct Scores {
  const char* name;
  Setting setting;
  std::vector<std::optional<double>> scores;
  unsigned epochs, best;
};

TEST(TrainingRunsTest, TheBestEpochAndPatience) {
  const double nan = std::nan("");
  const auto smaller = [](TrainingOptions& o) { o.stopping.better = Better::smaller; };
  const Setting patient = {"", [](TrainingOptions& options) {
                             options.epochs = 100;
                             options.stopping.patience = 3;
                           }};
  const Setting skips = {"", [](TrainingOptions& o) { o.not_finite = NotFinite::skip; }};
  for (const Scores& all : std::vector<Scores>{
           {"without scores the last is", kPlain, {{}, {}, {}}, 3, 3},
           {"the largest", kPlain, {0.5, 0.75, 0.25}, 3, 2},
           {"the first of equal ones", kPlain, {0.5, 0.5, 0.5}, 3, 1},
           {"the smallest", kPlain.with(smaller), {0.5, 0.25, 0.75}, 3, 2},
           {"never NaN", skips, {nan, nan, 0.5}, 3, 3},
           {"an infinite one", kPlain, {0.5, static_cast<double>(kInfinity), 1.0}, 3, 2},
           {"patience", patient, {0.5, 0.5, 0.25, 1.0, 1.0, 1.0, 1.0}, 7, 4}}) {
    SCOPED_TRACE(all.name);
    Program program(all.setting);
    for (const std::optional<double>& score : all.scores) {
      program.pass_over();
      score ? program.run->finish_epoch(*score) : program.run->finish_epoch();
    }
    EXPECT_FALSE(program.run->next_epoch(kSamples));
    EXPECT_EQ(program.run->progress().epochs, all.epochs);
    EXPECT_EQ(program.run->progress().best_epoch, all.best);
    EXPECT_EQ(program.run->progress().updates, 0u);
  }
}

TEST(TrainingRunsTest, AScoreThatIsNoNumberFails) {
  Program program(kPlain);
  program.pass_over();
  EXPECT_EQ(message_of<NumericError>([&] { program.run->finish_epoch(std::nan("")); }),
            "[TrainingRun] need a number as the dev score of epoch 1; got nan: are there dev "
            "samples?");
  EXPECT_EQ(program.run->progress().best_epoch, 0u);
  program.run->finish_epoch(0.5);
  EXPECT_EQ(program.run->progress().best_epoch, 1u);
}

TEST(TrainingRunsTest, RandomNumbersAreOfTheirMinibatch) {
  Program program(kPlain);
  std::set<std::uint64_t> drawn;
  while (program.run->next_epoch(kSamples)) {
    while (program.run->next(*program.batch)) drawn.insert(program.run->random()());
    program.run->finish_epoch();
  }
  EXPECT_EQ(drawn.size(), 3u * kMinibatches);
}

// Ctrl-C in an evaluation, and signals after the run.
TEST(TrainingRunsTest, SignalsStopIt) {
  const std::string folder = new_folder("signals");
  Program whole(kPlain);
  whole.train();
  Program first(kPlain, folder);
  while (first.run->next_epoch(kSamples)) {
    while (first.run->next(*first.batch)) {
      first.record();
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
  Program whole(kPlain);
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
  EXPECT_FALSE(first.run->next_epoch(kSamples));
  first.run.reset();
  Program second(kPlain, folder, true);
  EXPECT_EQ(second.run->progress().minibatches, 3u);
  second.train();
  EXPECT_EQ(second.values(), whole.values());
}

TEST(TrainingRunsTest, AFinishedRunGoesOnWithMoreEpochs) {
  const std::string folder = new_folder("more");
  Program(kPlain.with([](TrainingOptions& o) { o.epochs = 1; }), folder).train();
  Program more(kPlain, folder, true), whole(kPlain);
  more.train();
  whole.train();
  EXPECT_EQ(more.values(), whole.values());
}

// Shards are cut by sizes, so the same minibatches with other sizes have other shards.
TEST(TrainingRunsTest, AnEpochGoesOnWithTheSameSamplesAndSizes) {
  const std::string folder = new_folder("samples");
  const Minibatches list = {{0, 1, 2}, {3, 4, 5}};
  const std::vector<std::uint32_t> sizes = {2, 2, 2, 2, 2, 2}, other_sizes = {9, 2, 2, 2, 2, 2};
  const Setting shards = {"", [](TrainingOptions& options) { options.ranks.shards = 2; }};
  Program program(shards, folder);
  ASSERT_TRUE(program.run->next_epoch(list, sizes));
  while (program.run->next(*program.batch)) {
    program.record();
    program.run->update(*program.batch);
    program.run->stop();
  }
  program.run.reset();
  Program other(shards, folder, true);
  EXPECT_EQ(message_of<UsageError>([&] { other.run->next_epoch(list, other_sizes); }),
            "[TrainingRun] need the same minibatches and sizes to go on with epoch 1 after 1 of "
            "them; got others");
  EXPECT_THROW(other.run->next_epoch(kSamples), UsageError);
  EXPECT_THROW(other.run->next_epoch(Minibatches()), UsageError);
  ASSERT_TRUE(other.run->next_epoch(list, sizes));
  int left = 0;
  while (other.run->next(*other.batch)) ++left;
  EXPECT_EQ(left, 1);
}

// Accumulated minibatches are one large minibatch, bit for bit on the CPU.
TEST(TrainingRunsTest, AccumulationIsOneLargeMinibatch) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "sums of another order have other bits";
  const auto train = [](unsigned batch_size, unsigned accumulate, bool sums) {
    Program program(kPlain.with([&](TrainingOptions& options) {
      options.batch_size = batch_size;
      options.accumulate = accumulate;
      options.sum_losses = sums;
      EXPECT_EQ(options.updates(kSamples),
                3u * ((50 + batch_size * accumulate - 1) / (batch_size * accumulate)));
    }));
    Minibatches list(1);
    for (std::uint32_t sample = 0; sample < kSamples; ++sample) {
      if (list.back().size() == batch_size) list.emplace_back();
      list.back().push_back(sample);
    }
    while (program.run->next_epoch(list)) {
      while (program.run->next(*program.batch)) {
        for (const std::uint32_t sample : program.run->samples()) {
          program.batch->add_loss(program.loss(program.batch->new_graph(), sample));
        }
        program.run->update(*program.batch);
      }
      program.run->finish_epoch();
    }
    std::vector<float> values = program.values();
    values.push_back(static_cast<float>(program.run->progress().updates));
    return values;
  };
  for (const bool sums : {false, true}) {
    EXPECT_EQ(train(5, 2, sums), train(10, 1, sums));
    EXPECT_EQ(train(5, 4, sums), train(20, 1, sums));  // the last update has fewer
  }
  EXPECT_NE(train(10, 1, false), train(10, 1, true));
}

TEST(TrainingRunsTest, MeansAreOfLosses) {
  OneWeight one;
  one.options.accumulate = 2;
  TrainingRun run(one.trainer, one.options);
  one.epoch(run, Minibatches{{0}, {1}}, [&](const auto&) {
    one.set_loss(3);
    EXPECT_EQ(run.update(one.batch, 2), 24.0f);
  });
  EXPECT_EQ(one.value(), 8 - 6.0f / 4);
  EXPECT_EQ(run.progress().mean_loss(), 12);
}

// Of the weights 7 and 6. Exponential averages begin at zero, and that is corrected.
TEST(TrainingRunsTest, TheBestModelHasTheAverages) {
  for (const bool is_exponential : {false, true}) {
    OneWeight one;
    is_exponential ? one.trainer.exponential_moving_average(0.5f)
                   : one.trainer.cumulative_moving_average();
    const float average = is_exponential ? (7 * 0.25f + 6 * 0.5f) / 0.75f : 6.5f;
    one.options.epochs = 1;
    TrainingRun run(one.trainer, one.options);
    one.epoch(run, {1, 1});
    // An evaluation that fails leaves the weights in their place.
    EXPECT_THROW(run.finish_epoch([]() -> double { throw StateError("no"); }), StateError);
    EXPECT_EQ(one.value(), 6.0f);
    EXPECT_THROW(run.finish_epoch(1), UsageError);  // averages are not in place
    run.finish_epoch([&] { return static_cast<double>(one.value()); });
    EXPECT_EQ(one.value(), 6.0f);
    EXPECT_FLOAT_EQ(static_cast<float>(run.progress().best_score), average);
    EXPECT_FALSE(run.next_epoch(1));
    EXPECT_FLOAT_EQ(one.value(), average);
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

// A loss that is not finite makes no update, has no part in the mean, and is in the line.
TEST(TrainingRunsTest, UpdatesThatAreSkipped) {
  std::ostringstream lines;
  OneWeight one;
  one.options.epochs = 3;
  one.options.not_finite = NotFinite::skip;
  one.options.report.lines = &lines;
  TrainingRun run(one.trainer, one.options);
  for (const std::vector<float>& slopes :
       std::vector<std::vector<float>>{{1, kInfinity, 1}, {kInfinity}, {1, 1}}) {
    one.epoch(run, slopes);
    run.finish_epoch();
  }
  EXPECT_EQ(one.value(), 4.0f);
  EXPECT_EQ(run.progress().updates, 4u);
  EXPECT_EQ(run.progress().skipped, 2u);
  EXPECT_EQ(run.curve().value("train loss", 1), 7.5);
  EXPECT_EQ(run.curve().value("train loss", 2), std::nullopt);
  const std::string text = lines.str();
  EXPECT_TRUE(mentions(text, "epoch 1/3: loss 7.5000, "));
  EXPECT_TRUE(mentions(text, ", 1 update skipped\nepoch 2/3: no loss, "));
  EXPECT_EQ(text.find("skipped", text.find("epoch 3/3")), std::string::npos) << text;
}

TEST(TrainingRunsTest, GradientsOfYourOwn) {
  OneWeight one;
  one.options.accumulate = 2;
  TrainingRun run(one.trainer, one.options);
  one.epoch(run, Minibatches{{0}, {1}, {2}}, [&](const auto& samples) {
    if (samples[0] == 1) return;  // the last of an update is passed over
    ComputationGraph graph;
    run.update(graph.backward(parameter(graph, one.w) * 2), 1.5, 1);
  });
  EXPECT_EQ(one.value(), 4.0f);
  EXPECT_EQ(run.progress().updates, 2u);
  EXPECT_EQ(run.progress().mean_loss(), 1.5);
}

TEST(TrainingRunsTest, RatesFollowSchedules) {
  OneWeight one;
  one.options.epochs = 4;
  one.options.schedule.plateau = Plateau{.factor = 0.25f, .patience = 1};
  one.trainer.learning_rate = 0.5f;
  TrainingRun run(one.trainer, one.options);
  std::vector<float> rates;
  for (int epoch = 0; epoch < 4; ++epoch) {
    one.epoch(run, std::vector<float>{1});
    rates.push_back(one.trainer.learning_rate);
    run.finish_epoch(1);
  }
  EXPECT_EQ(rates, (std::vector<float>{0.5f, 0.5f, 0.5f, 0.125f}));
}

// A note is of one epoch.
TEST(TrainingRunsTest, NotesAreOfTheirEpoch) {
  OneWeight one;
  TrainingRun run(one.trainer, one.options);
  for (unsigned epoch = 1; epoch <= 3; ++epoch) {
    one.epoch(run, std::vector<float>{1});
    run.note(epoch == 2 ? "in the second" : "noted", epoch);
    run.finish_epoch();
  }
  EXPECT_EQ(run.curve().to_csv().substr(0, run.curve().to_csv().find('\n')),
            "epoch,learning rate,noted,train loss,in the second");
  const auto noted = [&](const char* name, unsigned epoch) {
    return run.curve().value(name, epoch);
  };
  EXPECT_EQ(noted("noted", 1), 1);
  EXPECT_EQ(noted("noted", 2), std::nullopt);
  EXPECT_EQ(noted("noted", 3), 3);
  EXPECT_EQ(noted("in the second", 1), std::nullopt);
  EXPECT_EQ(noted("in the second", 2), 2);
  EXPECT_EQ(noted("in the second", 3), std::nullopt);
}

// A run whose timeline has so many minibatches and is saved there.
void train_timed(Timeline& timeline, unsigned minibatches, const std::string& file,
                 const Program::Hook& after = {}) {
  std::filesystem::remove(file);
  Program program(kPlain.with([&](TrainingOptions& options) {
    options.report.timeline = &timeline;
    options.report.timeline_minibatches = minibatches;
    options.report.timeline_file = file;
  }));
  program.train({}, after);
}

TEST(TrainingTimelineTest, HasTheFirstMinibatchesAndIsSavedBehindThem) {
  const std::string file = ::testing::TempDir() + "timeline.json";
  Timeline timeline;
  std::size_t updates = 0, with_file = 0;
  train_timed(timeline, 3, file, [&](TrainingRun&, int) {
    ++updates;
    with_file += std::filesystem::exists(file) ? 1 : 0;
  });
  EXPECT_EQ(with_file, updates - 3);
  const TimelineEvents events(file_contents(file));
  events.expect_nested();
  EXPECT_EQ(events.named("minibatch").size(), 3u);
  ASSERT_EQ(events.named("update").size(), 3u);
  for (const auto& update : events.named("update")) {
    EXPECT_TRUE(events.is_within(update, "minibatch"));
  }
  EXPECT_EQ(file_contents(file), timeline.json());
}

TEST(TrainingTimelineTest, IsSavedAtTheEndOfAShortRunIfThereIsAFile) {
  for (const unsigned most : {0u, 1000u}) {
    const std::string file = ::testing::TempDir() + "timeline.json";
    Timeline timeline;
    train_timed(timeline, most, file);
    EXPECT_EQ(TimelineEvents(file_contents(file)).named("minibatch").size(), 3u * kMinibatches);
  }
  Timeline without, refused;
  train_timed(without, 2, "");
  EXPECT_EQ(TimelineEvents(without.json()).named("minibatch").size(), 2u);
  EXPECT_THROW(train_timed(refused, 2, ::testing::TempDir() + "none/timeline.json"), FileError);
}

struct Stopped {};

struct How {
  unsigned ranks = 1, threads = 1;
  std::string folder = {};
  bool resume = false;
  int stop_at = -1;  ///< after the update of this minibatch, by a rank
  unsigned who_stops = 0;
};

class SameBits : public ::testing::TestWithParam<Setting> {
 protected:
  static Program alone(const std::string& folder = "", bool resume = false) {
    return Program(GetParam(), folder, resume);
  }

  /// With shards. All ranks must agree.
  static Outcome run(const How& how) {
    std::mutex mutex;
    std::vector<Outcome> outcomes;
    std::vector<std::vector<float>> losses;
    run_ranks(how.ranks, [&](const Ranks& ranks) {
      Program program(GetParam(), how.folder, how.resume, ranks, how.threads);
      program.train({}, [&](TrainingRun& run, int minibatch) {
        if (minibatch == how.stop_at && ranks->rank() == how.who_stops) run.stop();
      });
      EXPECT_EQ(program.run->interrupted(), how.stop_at >= 0);
      const std::lock_guard lock(mutex);
      outcomes.push_back(program.outcome());
      losses.push_back(program.losses);
    });
    for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome == outcomes.front());
    for (const auto& of_rank : losses) EXPECT_EQ(of_rank, losses.front());
    return outcomes.front();
  }
};

INSTANTIATE_TEST_SUITE_P(All, SameBits, ::testing::ValuesIn(settings()),
                         [](const auto& test) { return test.param.name; });

TEST_P(SameBits, StoppedAnywhereItGoesOn) {
  Program whole = alone(new_folder("whole"));
  whole.train();
  EXPECT_FALSE(whole.run->interrupted());
  EXPECT_GE(whole.run->progress().updates, 6u);
  for (const int stop : {0, 5, 6, 16}) {  // the first, within an update, the last, and later
    SCOPED_TRACE(stop);
    const std::string folder = new_folder("parts");
    {
      Program first = alone(folder);
      first.train([&](TrainingRun& run, int minibatch) {
        if (minibatch == stop) run.stop();
      });
      EXPECT_TRUE(first.run->interrupted());
      EXPECT_FALSE(first.run->next_epoch(kSamples));
    }
    Program second = alone(folder, true);
    second.train();
    EXPECT_FALSE(second.run->interrupted());
    EXPECT_TRUE(second.outcome() == whole.outcome());
  }
}

// As if it were killed: what was saved last is all that there is.
TEST_P(SameBits, KilledAnywhereItGoesOnFromTheLastEpoch) {
  Program whole = alone(new_folder("whole"));
  whole.train();
  const std::string folder = new_folder("parts");
  EXPECT_THROW(alone(folder).train({},
                                   [](TrainingRun&, int minibatch) {
                                     if (minibatch == 9) throw Stopped();
                                   }),
               Stopped);
  Program second = alone(folder, true);
  EXPECT_EQ(second.run->progress().epochs, 1u);
  second.train();
  EXPECT_TRUE(second.outcome() == whole.outcome());
}

TEST_P(SameBits, WhatFailsGoesOnInTheSameProcess) {
  Program whole = alone();
  whole.train();
  for (const bool after : {false, true}) {
    Program other = alone();
    int failures = 0, calls = 0;
    const auto fail = [&](TrainingRun&, int) {
      if (++calls % 4 == 0) throw Stopped();
    };
    for (bool done = false; !done && failures < 100;) {
      try {
        after ? other.train({}, fail) : other.train(fail);
        done = true;
      } catch (const Stopped&) {
        ++failures;
      }
    }
    EXPECT_GT(failures, 3);
    EXPECT_TRUE(other.outcome() == whole.outcome());
  }
}

TEST_P(SameBits, OnAnyNumberOfThreadsAndRanks) {
  const Outcome one = run({});
  EXPECT_GE(one.updates, 6u);
  for (const float value : one.values) EXPECT_TRUE(std::isfinite(value));
  EXPECT_TRUE(run({.threads = 3}) == one);
  for (const unsigned ranks : {2u, 3u, 4u, 5u}) {
    EXPECT_TRUE(run({.ranks = ranks}) == one) << ranks << " ranks";
  }
  EXPECT_TRUE(run({.ranks = 2, .threads = 2, .folder = new_folder("files")}) == one);
}

// One rank, whichever, is asked to stop, all do, and another number of them goes on.
TEST_P(SameBits, RanksStopTogetherAndOthersGoOn) {
  const Outcome whole = run({});
  for (const auto& [stop, who] : std::vector<std::pair<int, unsigned>>{{0, 2}, {1, 0}, {8, 1}}) {
    SCOPED_TRACE(stop);
    const std::string folder = new_folder("parts");
    const Outcome first = run({.ranks = 3, .folder = folder, .stop_at = stop, .who_stops = who});
    EXPECT_LT(first.updates, whole.updates);
    EXPECT_TRUE(run({.ranks = 2, .folder = folder, .resume = true}) == whole);
  }
}

// A server's copies of parameters and trainer are as good as the originals.
TEST_P(SameBits, OneRankWithAServer) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "a server needs parameters on the CPU";
  const auto train = [](const std::optional<Relaxation>& relaxation) {
    Setting setting = GetParam().with([&](TrainingOptions& options) {
      options.ranks.shards = options.accumulate = 1;
      options.ranks.relaxation = relaxation;
    });
    const auto own = setting.trainer;
    setting.trainer = [own](Trainer& trainer) {  // what a server needs
      own(trainer);
      trainer.sparse_updates = SparseUpdates::lazy;
      trainer.weight_decay = 0;
    };
    Program program(setting, "", false, single_process());
    program.train();
    EXPECT_EQ(program.trainer.updates(), program.run->progress().updates);
    return program.outcome();
  };
  EXPECT_TRUE(train(Relaxation{}) == train({}));
}

}  // namespace
}  // namespace dynet_like::nn

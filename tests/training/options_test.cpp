// Options of training runs: what is refused, and what the output says of them.
#include <chrono>
#include <cmath>
#include <functional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

const Setting kPlain = {"plain"};

TEST(RunOptionsTest, OptionsAreChecked) {
  const auto with = [](const std::function<void(TrainingOptions&)>& more) {
    Program(kPlain, "", false, more);
  };
  struct OfYourOwn {
    float first = 0;

    float rate(std::uint64_t) const { return first; }
    std::string description() const { return "OfYourOwn"; }
    void check() const {}
  };
  using Change = std::function<void(TrainingOptions&)>;
  const std::vector<std::pair<Change, std::string>> refused = {
      {[](TrainingOptions& o) { o.epochs = 0; }, "1 epoch or more; got 0"},
      {[](TrainingOptions& o) { o.batch_size = 0; }, "a batch size above 0; got 0"},
      {[](TrainingOptions& o) { o.accumulate = 0; }, "1 minibatch per update or more; got 0"},
      {[](TrainingOptions& o) { o.shards = 0; },
       "a shard for each rank (a run that has begun with fewer goes on with fewer ranks); got 0 "
       "for 1 rank"},
      {[](TrainingOptions& o) { o.shards = 4000000000; }, "1 to 65536 shards; got 4000000000"},
      {[](TrainingOptions& o) { o.units_per_sample = 0; },
       "more than 0 and at most 1e9 units per sample; got 0"},
      {[](TrainingOptions& o) { o.units_per_sample = std::nan(""); },
       "more than 0 and at most 1e9 units per sample; got nan"},
      {[](TrainingOptions& o) { o.units_per_sample = 1e300; },
       "more than 0 and at most 1e9 units per sample; got 1e+300"},
      {[](TrainingOptions& o) { o.schedule = OfYourOwn{-1}; },
       "a schedule with finite rates from 0; got -1 at first, from OfYourOwn"},
      {[](TrainingOptions& o) { o.schedule = OfYourOwn{std::nanf("")}; },
       "a schedule with finite rates from 0; got nan at first, from OfYourOwn"},
      {[](TrainingOptions& o) { o.resume = true; },
       "TrainingOptions::output to resume, the folder of the earlier run; got \"\""},
      {[](TrainingOptions& o) { o.events = true; },
       "TrainingOptions::output for events, a folder; got \"\""},
  };
  for (const auto& [change, message] : refused) {
    EXPECT_EQ(message_of<UsageError>([&with, &bad = change] { with(bad); }),
              "[TrainingRun] need " + message);
  }
  EXPECT_THROW(with([](TrainingOptions& o) { o.plateau = Plateau{.factor = 2}; }), UsageError);
  EXPECT_THROW(with([](TrainingOptions& o) { o.settings["training.x"] = ""; }), UsageError);
  EXPECT_THROW(with([](TrainingOptions& o) { o.relaxation = Relaxation{.backup_ranks = 1}; }),
               UsageError);
}

// A warm-up that is longer than the run, whatever its form.
TEST(RunOptionsTest, ALineSaysIfTheRateStillRises) {
  const auto lines_of = [](const Schedule& schedule, bool by_epoch) {
    std::ostringstream lines;
    Program(kPlain, "", false, [&](TrainingOptions& options) {
      options.lines = &lines;
      options.schedule = schedule;
      options.schedule_by_epoch = by_epoch;
    }).train();
    return lines.str();
  };
  const std::string begin = "The learning rate still rises when the run ends, after ";
  EXPECT_EQ(lines_of(WarmUp{42, 0.5f}, false)
                .find(begin + "21 updates: it is then 0.25 of WarmUp(updates=42, then "
                              "ConstantRate(0.5))\nepoch 1/3: "),
            0u);
  EXPECT_EQ(lines_of(WarmUp{6, 0.5f}, true).find(begin + "3 epochs: it is then 0.25 of WarmUp("),
            0u);
  EXPECT_EQ(lines_of(WarmUp{21, 0.5f}, false).find("epoch 1/3: "), 0u);
  EXPECT_EQ(lines_of(WarmUp{3, 0.5f}, true).find("epoch 1/3: "), 0u);
}

TEST(RunOptionsTest, TheCurveHasTheLearningRate) {
  Program program(kPlain, "", false, [](TrainingOptions& options) {
    options.schedule = LinearRate{.peak = 2.1f, .updates = 21};
  });
  program.train();
  for (const unsigned epoch : {1u, 2u, 3u}) {  // of the last update before the row
    EXPECT_NEAR(program.run->curve().value("learning rate", epoch).value(),
                2.1 - 0.1 * (7 * epoch - 1), 1e-6);
  }
}

TEST(RunOptionsTest, LinesSayWhichEpochIsTheBest) {
  std::ostringstream lines;
  Program program(kPlain, "", false, [&](TrainingOptions& options) { options.lines = &lines; });
  for (const double score : {0.5, 0.25, 0.75}) {
    ASSERT_TRUE(program.run->next_epoch());
    for ([[maybe_unused]] const auto& samples :
         program.run->minibatches(*program.batch, kSamples)) {
    }
    lines.str("");
    program.run->finish_epoch(score);
    EXPECT_EQ(lines.str().ends_with(", best so far\n"), score != 0.25) << lines.str();
  }
}

TEST(RunOptionsTest, TimesHaveTheEvaluation) {
  Program program(kPlain, "");
  ASSERT_TRUE(program.run->next_epoch());
  for ([[maybe_unused]] const auto& samples : program.run->minibatches(*program.batch, kSamples)) {
  }
  program.run->finish_epoch([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return 0.5;
  });
  EXPECT_GE(program.run->progress().seconds, 0.1);
}

// A sleep takes at least its time, however busy the machine is.
TEST(RunOptionsTest, TimesAddUp) {
  const std::string folder = new_folder("times");
  const auto rest = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  Program first(kPlain, folder);
  first.train([&](TrainingRun& run, int minibatch) {
    if (minibatch == 0) rest();
    if (minibatch != 9) return;
    rest();
    run.stop();
  });
  EXPECT_LE(first.run->units_per_second(), 2 * kSamples / 0.2);  // over both loops
  first.run.reset();
  EXPECT_GE(Program(kPlain, folder, true).run->progress().seconds, 0.2);
}

}  // namespace
}  // namespace dynet_like::nn

// Options of training runs: what is refused, and what the output says of them.
#include <chrono>
#include <thread>
#include <utility>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;
using Change = std::function<void(TrainingOptions&)>;

std::string refusal(const Change& change) {
  return message_of<UsageError>([&] { Program(kPlain.with(change)); });
}

TEST(RunOptionsTest, AreChecked) {
  struct OfYourOwn {
    float first = 0;

    float rate(std::uint64_t) const { return first; }
    std::string description() const { return "OfYourOwn"; }
    void check() const {}
  };
  const std::string units = "more than 0 and at most 1e9 units per sample; got ",
                    rates = "a schedule with finite rates from 0; got ";
  const std::vector<std::pair<Change, std::string>> refused = {
      {[](auto& o) { o.epochs = 0; }, "1 epoch or more; got 0"},
      {[](auto& o) { o.batch_size = 0; }, "a batch size above 0; got 0"},
      {[](auto& o) { o.accumulate = 0; }, "1 minibatch per update or more; got 0"},
      {[](auto& o) { o.ranks.shards = 0; },
       "a shard for each rank (a run that has begun with fewer goes on with fewer ranks); got 0 "
       "for 1 rank"},
      {[](auto& o) { o.ranks.shards = 4000000000; }, "1 to 65536 shards; got 4000000000"},
      {[](auto& o) { o.report.units_per_sample = 0; }, units + "0"},
      {[](auto& o) { o.report.units_per_sample = std::nan(""); }, units + "nan"},
      {[](auto& o) { o.report.units_per_sample = 1e300; }, units + "1e+300"},
      {[](auto& o) { o.schedule.rate = OfYourOwn{-1}; }, rates + "-1 at first, from OfYourOwn"},
      {[](auto& o) { o.schedule.rate = OfYourOwn{std::nanf("")}; },
       rates + "nan at first, from OfYourOwn"},
      {[](auto& o) { o.files.resume = true; },
       "FileOptions::folder to resume, that of the earlier run; got \"\""},
      {[](auto& o) { o.files.events = true; }, "FileOptions::folder for events; got \"\""},
      {[](auto& o) { o.report.score_name = "epoch"; },
       "a name of the score that reports do not use; got \"epoch\""},
      {[](auto& o) { o.report.score_name = "M\xFCll"; }, "text in UTF-8; got \"M\\xFCll\""},
  };
  for (const auto& [change, message] : refused) {
    EXPECT_EQ(refusal(change), "[TrainingRun] need " + message);
  }
  EXPECT_EQ(
      refusal([](auto& o) { o.schedule.plateau = Plateau{.factor = 2}; }).find("[Schedule] need "),
      0u);
  EXPECT_TRUE(mentions(refusal([](auto& o) { o.ranks.relaxation = Relaxation{.backup_ranks = 1}; }),
                       "need fewer backup ranks than ranks"));
}

// What files cannot store is refused before an epoch is trained.
TEST(RunOptionsTest, KeysAndTextsOfFilesAreChecked) {
  const std::string other = "M\xFCll", utf8 = "M\xC3\xBCll";
  for (Metadata FileOptions::*const metadata :
       {&FileOptions::settings, &FileOptions::arguments, &FileOptions::texts}) {
    const auto with = [&](const std::string& key, const std::string& value) {
      return refusal([&](TrainingOptions& options) { (options.files.*metadata)[key] = value; });
    };
    for (const std::string key : {"dynet_like.seed", "training.seed"}) {
      EXPECT_EQ(with(key, "1"),
                "[TrainingRun] need keys of settings, texts and arguments that do not begin with "
                "\"training.\" or \"dynet_like.\"; got \"" +
                    key + '"');
    }
    for (const auto& message : {with("text", other), with(other, "text")}) {
      EXPECT_EQ(message, "[TrainingRun] need text in UTF-8; got \"M\\xFCll\"");
    }
    EXPECT_EQ(with(utf8, utf8), "nothing was thrown");
    // A file with settings and others of the same key would lose one.
    if (metadata == &FileOptions::settings) continue;
    EXPECT_EQ(with("model", "x"),
              "[TrainingRun] need other keys in settings than in texts and arguments; got "
              "\"model\" in settings and " +
                  std::string(metadata == &FileOptions::texts ? "texts" : "arguments"));
  }
  EXPECT_EQ(refusal([](auto& o) { o.files.texts["x"] = o.files.arguments["x"] = "the"; }),
            "nothing was thrown");  // these are in different files
}

TEST(RunOptionsTest, NotesDoNotHideColumnsOfTheRun) {
  Program program(kPlain.with([](auto& o) { o.report.score_name = "accuracy"; }));
  const auto note = [&](const std::string& column) {
    return message_of<UsageError>([&] { program.run->note(column, 1); });
  };
  for (const std::string column : {"epoch", "train loss", "learning rate", "dev accuracy"}) {
    EXPECT_EQ(note(column),
              "[TrainingRun] need a name for a note that the learning curve does not use; got \"" +
                  column + '"');
  }
  EXPECT_EQ(note("dev loss"), "nothing was thrown");
  EXPECT_TRUE(mentions(note("M\xFCll"), "need text in UTF-8"));
}

std::string lines_of(const Change& change) {
  std::ostringstream lines;
  Program(kPlain.with(change).with([&](auto& o) { o.report.lines = &lines; })).train();
  return lines.str();
}

// A warm-up that is longer than the run, whatever its form.
TEST(RunOptionsTest, ALineSaysIfTheRateStillRises) {
  const auto lines = [](unsigned steps, bool by_epoch) {
    return lines_of([=](TrainingOptions& options) {
      options.schedule.rate = WarmUp{steps, 0.5f};
      options.schedule.by_epoch = by_epoch;
    });
  };
  const std::string begin = "The learning rate still rises when the run ends, after ";
  EXPECT_EQ(lines(42, false).find(begin + "21 updates: it is then 0.25 of WarmUp(updates=42, then "
                                          "ConstantRate(0.5))\nepoch 1/3: "),
            0u);
  EXPECT_EQ(lines(6, true).find(begin + "3 epochs: it is then 0.25 of WarmUp("), 0u);
  EXPECT_EQ(lines(21, false).find("epoch 1/3: "), 0u);
  EXPECT_EQ(lines(3, true).find("epoch 1/3: "), 0u);
}

TEST(RunOptionsTest, TheCurveHasTheLearningRate) {
  Program program(
      kPlain.with([](auto& o) { o.schedule.rate = LinearRate{.peak = 2.1f, .updates = 21}; }));
  program.train();
  for (const unsigned epoch : {1u, 2u, 3u}) {  // of the last update before the row
    EXPECT_NEAR(program.run->curve().value("learning rate", epoch).value(),
                2.1 - 0.1 * (7 * epoch - 1), 1e-6);
  }
}

TEST(RunOptionsTest, LinesSayWhichEpochIsTheBest) {
  std::ostringstream lines;
  Program program(kPlain.with([&](auto& o) { o.report.lines = &lines; }));
  for (const double score : {0.5, 0.25, 0.75}) {
    program.pass_over();
    lines.str("");
    program.run->finish_epoch(score);
    EXPECT_EQ(lines.str().ends_with(", best so far\n"), score != 0.25) << lines.str();
  }
}

TEST(RunOptionsTest, LinesThatCannotBeWritten) {
  std::ostringstream lines;
  lines.setstate(std::ios::failbit);
  Program program(kPlain.with([&](auto& o) { o.report.lines = &lines; }));
  EXPECT_THROW(program.train(), FileError);
  EXPECT_EQ(program.run->progress().epochs, 1u);
}

// A sleep takes at least its time, however busy the machine is.
TEST(RunOptionsTest, TimesAddUp) {
  const std::string folder = new_folder("times");
  const auto rest = [] { std::this_thread::sleep_for(std::chrono::milliseconds(100)); };
  {
    Program first(kPlain, folder);
    first.train([&](TrainingRun& run, int minibatch) {
      if (minibatch == 0) rest();
      if (minibatch != 9) return;
      rest();
      run.stop();
    });
    EXPECT_LE(first.run->units_per_second(), 2 * kSamples / 0.2);  // over both loops
  }
  Program second(kPlain, folder, true);
  const double before = second.run->progress().seconds;
  EXPECT_GE(before, 0.2);
  second.pass_over();
  second.run->finish_epoch([&] {
    rest();
    return 0.5;
  });
  EXPECT_GE(second.run->progress().seconds, before + 0.1);  // with the evaluation
}

// Also that of a loop which goes on.
TEST(RunOptionsTest, ASavedTimeHasThatOfTheLoop) {
  const std::string folder = new_folder("saved_time");
  {
    Program first(kPlain, folder);
    ASSERT_TRUE(first.run->next_epoch(kSamples));
    ASSERT_TRUE(first.run->next(*first.batch));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    first.run->save();
  }
  EXPECT_GE(Program(kPlain, folder, true).run->progress().seconds, 0.1);
}

}  // namespace
}  // namespace dynet_like::nn

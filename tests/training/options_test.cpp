// Options of training runs: what is refused, and what the output says of them; and what a loop may
// do wrong, and a run says.
#include <chrono>
#include <thread>
#include <utility>

#include "tests/support/message_of.h"
#include "tests/support/one_weight.h"
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

/// Minibatches of two samples, whose gradients add up to 2 whatever is added to the loss.
struct TwoSamples : OneWeight {
  TwoSamples() { options.sum_losses = true; }

  void add_losses(float added) {
    batch.add_loss(parameter(batch.new_graph(), w));
    ComputationGraph& graph = batch.new_graph();
    const Expression term = log(input(graph, std::exp(added)));  // node 1
    batch.add_loss(term + parameter(graph, w));
  }
};

TEST(TrainingMistakesTest, CallsOutOfOrderAreRefused) {
  Program program(kPlain);
  TrainingRun& run = *program.run;
  const auto refuses = [&](const std::function<void()>& call) {
    EXPECT_NE(message_of<UsageError>(call), "nothing was thrown");
  };
  const auto next = [&] { run.next(*program.batch); };
  const auto update = [&] { run.update(*program.batch); };
  const auto finish = [&] { run.finish_epoch(1); };
  for (const auto& call : std::vector<std::function<void()>>{
           next, update, finish, [&] { run.save(); }, [&] { run.samples(); }}) {
    refuses(call);
  }
  ASSERT_TRUE(run.next_epoch(kSamples));
  refuses(finish);
  refuses(update);
  while (run.next(*program.batch)) refuses(finish);
  refuses(next);
  refuses(update);
  refuses([&] { run.next_epoch(kSamples); });
  run.finish_epoch(1);
}

TEST(TrainingMistakesTest, LossesThatAreNotFiniteAreNamed) {
  for (const unsigned accumulate : {1, 2}) {
    TwoSamples two;
    two.options.accumulate = accumulate;
    TrainingRun run(two.trainer, two.options);
    const auto train = [&](float added) {
      two.epoch(run, Minibatches{{4, 5}, {6, 7}}, [&](const auto& samples) {
        two.add_losses(samples[0] == 6 ? added : 0);
        run.update(two.batch);
      });
    };
    EXPECT_EQ(message_of<NumericError>([&] { train(-kInfinity); }),
              "[Minibatch] need a finite loss; got -inf in sample 1; [detect_anomaly] need finite "
              "numbers; got -inf in element 0 of the value of log, node 1 of sample 1; in "
              "minibatch 2 of epoch 1");
    // As if the minibatch had not been there; on with the last update.
    EXPECT_EQ(two.value(), accumulate == 1 ? 6.0f : 8.0f);
    train(0);
    EXPECT_EQ(two.value(), 4.0f);
    EXPECT_TRUE(std::isfinite(run.progress().mean_loss()));
  }
}

TEST(TrainingMistakesTest, AMeanOfNoLosses) {
  TwoSamples two;
  two.options.sum_losses = false;
  TrainingRun run(two.trainer, two.options);
  EXPECT_EQ(message_of<UsageError>([&] {
              two.epoch(run, Minibatches{{0, 1}}, [&](const auto&) {
                two.add_losses(0);
                run.update(two.batch, 0);
              });
            }),
            "[TrainingRun] need the number of losses in minibatch 1 of epoch 1, to divide by it; "
            "got 0");
  EXPECT_EQ(two.value(), 8.0f);
}

TEST(TrainingMistakesTest, ASecondUpdateOfAMinibatch) {
  const auto message = [](unsigned accumulate, bool records_again) {
    TwoSamples two;
    two.options.accumulate = accumulate;
    TrainingRun run(two.trainer, two.options);
    return message_of<UsageError>([&] {
      two.epoch(run, Minibatches{{0, 1}, {2, 3}}, [&](const auto&) {
        two.add_losses(0);
        run.update(two.batch);
        if (records_again) two.add_losses(0);
        run.update(two.batch);
      });
    });
  };
  const std::string expected =
      "[TrainingRun] need a minibatch without losses that were trained on; got one with 2 of them: "
      "update() it once, or clear() it before";
  EXPECT_EQ(message(1, false), expected);
  EXPECT_EQ(message(2, false), expected);
  EXPECT_EQ(message(2, true), expected);
  // After an update already the next loss is refused.
  EXPECT_EQ(message(1, true).find("[add_loss] need a minibatch that was cleared since "), 0u);
}

// Another minibatch each time, at the same place.
TEST(TrainingMistakesTest, MinibatchesOfTheLoopNeedNoClear) {
  TwoSamples two;
  TrainingRun run(two.trainer, two.options);
  two.epoch(run, Minibatches{{0}, {1}, {2}}, [&](const auto&) {
    Minibatch batch;
    batch.add_loss(parameter(batch.new_graph(), two.w));
    EXPECT_NO_THROW(run.update(batch));
  });
}

// The last minibatch of an update may be one of them. What is passed over is done.
TEST(TrainingMistakesTest, MinibatchesMayBePassedOver) {
  for (const unsigned shards : {1u, 2u}) {
    Program program(kPlain.with([&](TrainingOptions& options) {
      options.accumulate = 2;
      options.ranks.shards = shards;
    }));
    const std::vector<float> before = program.values();
    ASSERT_TRUE(program.run->next_epoch(Minibatches{{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}}));
    while (program.run->next(*program.batch)) {
      const std::uint32_t sample = program.run->samples()[0];
      if (sample == 0) {
        program.record();
        program.run->update(*program.batch);
      }
      EXPECT_EQ(program.values() == before, sample <= 2);
      if (sample == 4) program.run->stop();
    }
    EXPECT_EQ(program.run->progress().updates, 1u);
    EXPECT_EQ(program.run->progress().minibatches, 3u);
  }
}

// The minibatches that wait for an update are lost with the one that fails.
TEST(TrainingMistakesTest, AFailedMinibatchThatTheLoopPassesOver) {
  TwoSamples two;
  two.options.accumulate = 2;
  TrainingRun run(two.trainer, two.options);
  two.epoch(run, Minibatches{{0, 1}, {2, 3}, {4, 5}, {6, 7}}, [&](const auto& samples) {
    two.add_losses(samples[0] == 2 ? kInfinity : 0);
    if (samples[0] == 2) {
      EXPECT_THROW(run.update(two.batch), NumericError);
    } else {
      run.update(two.batch);
    }
  });
  run.finish_epoch();
  EXPECT_EQ(two.value(), 8.0f - 4);
  EXPECT_EQ(run.progress().updates, 1u);
}

TEST(TrainingMistakesTest, GradientsOfAnotherUpdate) {
  for (const unsigned accumulate : {1, 2}) {
    TwoSamples two;
    two.options.accumulate = accumulate;
    TrainingRun run(two.trainer, two.options);
    Gradients gradients;
    const auto train = [&](bool computes) {
      two.epoch(run, Minibatches{{0}, {1}}, [&](const auto&) {
        if (computes) {
          gradients.clear();
          ComputationGraph graph;
          graph.backward(parameter(graph, two.w), gradients);
        }
        run.update(gradients, 1, 1);
      });
    };
    train(true);
    run.finish_epoch();
    EXPECT_EQ(two.value(), 6.0f);
    EXPECT_EQ(message_of<UsageError>([&] { train(false); }),
              "[TrainingRun] need gradients that no update has used; got some that one has: clear "
              "and compute them for each minibatch");
    EXPECT_EQ(two.value(), 6.0f);
    gradients.clear();
    EXPECT_EQ(
        message_of<UsageError>([&] {
          two.epoch(run, Minibatches{{0, 1}}, [&](const auto&) { run.update(gradients, 0, 0); });
        }),
        "[TrainingRun] need gradients or losses of minibatch 1 of epoch 2; got neither");
  }
}

// Nothing was updated by them.
TEST(TrainingMistakesTest, GradientsOfAnUpdateThatFailedAreNotUsed) {
  TwoSamples two;
  TrainingRun run(two.trainer, two.options);
  Gradients gradients;
  ComputationGraph graph;
  graph.backward(parameter(graph, two.w), gradients);
  const auto train = [&](double loss) {
    two.epoch(run, Minibatches{{0}}, [&](const auto&) { run.update(gradients, loss, 1); });
  };
  EXPECT_EQ(message_of<NumericError>([&] { train(std::nan("")); }),
            "[TrainingRun] need a finite loss; got nan");
  EXPECT_EQ(two.value(), 8.0f);
  train(1);
  EXPECT_EQ(two.value(), 7.0f);
  EXPECT_TRUE(gradients.is_used());
}

// What a server refuses is told each time, and may be mended.
TEST(TrainingMistakesTest, ALoopThatDidNotBeginIsNotInTheWay) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "a server needs parameters on the CPU";
  ParameterCollection model;
  const LookupParameter table = model.add_lookup_parameters(2, {1}, ParameterInitConst(8), "table");
  SimpleSGDTrainer trainer(model, 1);
  TrainingOptions options;
  options.report.lines = nullptr;
  options.ranks.relaxation = Relaxation{};
  options.sum_losses = true;
  TrainingRun run(trainer, options);
  Minibatch batch;
  trainer.sparse_updates = SparseUpdates::exact;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(message_of<UsageError>([&] { run.next_epoch(2); }).find("[ParameterServer] "), 0u);
  }
  trainer.sparse_updates = SparseUpdates::lazy;
  ASSERT_TRUE(run.next_epoch(2));
  while (run.next(batch)) {
    for (const std::uint32_t sample : run.samples()) {
      batch.add_loss(lookup(batch.new_graph(), table, sample));
    }
    run.update(batch);
  }
  run.finish_epoch();
  EXPECT_EQ(as_vector(table.all_values()), (std::vector<float>{7, 7}));
}

}  // namespace
}  // namespace dynet_like::nn

// Files of training runs: what is written, what is refused, and hostile checkpoints.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;

using namespace training_program;

const Setting kPlain = {"plain"};

TEST(TrainingFilesTest, GoesOnWithItsOwnFilesOnly) {
  const std::string folder = new_folder("own");
  const auto resume = [&](const std::function<void(TrainingOptions&)>& more = {}) {
    Program(kPlain, folder, true, more);
  };
  const std::string none =
      ": [TrainingRun] need the checkpoint of an earlier run to resume it; got none: set "
      "TrainingOptions::output to the folder of that run, or resume to false";
  EXPECT_EQ(message_of<FileError>([&] { resume(); }), folder + none);
  fs::create_directories(folder);
  EXPECT_EQ(message_of<FileError>([&] { resume(); }), folder + "/checkpoint.safetensors" + none);
  Program(kPlain, folder).train();
  EXPECT_NO_THROW(resume());
  EXPECT_EQ(message_of<UsageError>(
                [&] { resume([](TrainingOptions& o) { o.settings["model"] = "other"; }); }),
            "[TrainingRun] need the same settings to go on from " + folder +
                "/checkpoint.safetensors: model was \"parity\"; got \"other\"");
  EXPECT_THROW(resume([](TrainingOptions& o) { o.settings["new"] = "1"; }), UsageError);
  EXPECT_THROW(resume([](TrainingOptions& o) { o.schedule = 0.1f; }), UsageError);
  EXPECT_THROW(resume([](TrainingOptions& o) { o.accumulate = 2; }), UsageError);
  EXPECT_THROW(resume([](TrainingOptions& o) { o.seed = 2; }), UsageError);
  EXPECT_THROW(resume([](TrainingOptions& o) { o.texts["words"] = "another vocabulary"; }),
               FileError);
  fs::remove(fs::path(folder) / "best.safetensors");
  EXPECT_THROW(resume(), FileError);
}

TEST(TrainingFilesTest, SettingsOfTheTrainerStay) {
  const std::string folder = new_folder("trainer");
  const auto run = [&](bool resume, float clipping, float rate) {
    ParameterCollection model;
    model.add_parameters({1});
    SimpleSGDTrainer trainer(model, rate);
    trainer.enable_clipping(clipping);
    TrainingOptions options;
    options.output = folder;
    options.resume = resume;
    TrainingRun run(model, trainer, options);
    run.save();
    return trainer.learning_rate;
  };
  run(false, 5, 0.1f);
  EXPECT_EQ(
      message_of<UsageError>([&] { run(true, 1, 0.1f); }),
      "[TrainingRun] need the same settings to go on from " + folder +
          "/checkpoint.safetensors: training.trainer's clipping threshold was \"5\"; got \"1\"");
  EXPECT_EQ(run(true, 5, 0.2f), 0.1f);  // part of the state
}

TEST(TrainingFilesTest, HostileCheckpoints) {
  const std::string folder = new_folder("hostile");
  Program(kPlain, folder).train();
  const fs::path file = fs::path(folder) / "checkpoint.safetensors";
  ParameterCollection model;
  Embedding numbers(model, kSamples, 4);
  Linear output(model, 4, 2);
  AdamTrainer trainer(model, 0.05f);
  Random random;
  const Metadata good = load_checkpoint(file, model, trainer, random);
  for (const auto& [key, value] :
       std::vector<std::pair<std::string, std::string>>{{"training.epochs", "4"},
                                                        {"training.epochs", "-1"},
                                                        {"training.best_epoch", "99999999999999"},
                                                        {"training.best_epoch", "4"},
                                                        {"training.minibatches", "1e300"},
                                                        {"training.loss", "much"},
                                                        {"training.best_score", "nan"},
                                                        {"training.seconds", "inf"},
                                                        {"training.plateau_scale", "nan"},
                                                        {"training.seconds", ""},
                                                        {"training.without_loss", "-1"},
                                                        {"training.without_loss_before", ""},
                                                        {"training.curve", "epoch\n1,\n"},
                                                        {"training.curve", "epoch,\"x\n"}}) {
    Metadata bad = good;
    bad[key] = value;
    save_checkpoint(file, model, trainer, random, bad);
    EXPECT_THROW(Program(kPlain, folder, true), FileError) << key << " " << value;
  }
  Metadata later = good;
  later["training.best_epoch"] = "4";
  save_checkpoint(file, model, trainer, random, later);
  EXPECT_NE(message_of<FileError>([&] {
              Program(kPlain, folder, true);
            }).find("need a curve of all epochs, and the best among them; got 3 and 4 of 3"),
            std::string::npos);
  save_checkpoint(file, model, trainer, random, good);
  EXPECT_NO_THROW(Program(kPlain, folder, true));
}

// A perplexity may be infinite at first.
TEST(TrainingFilesTest, ScoresNeedNotBeFinite) {
  for (const NotFinite not_finite : {NotFinite::fail, NotFinite::skip}) {
    const bool fails = not_finite == NotFinite::fail;
    const double number = fails ? std::numeric_limits<double>::infinity() : std::nan("");
    SCOPED_TRACE(number);
    const std::string folder = new_folder("not_finite");
    const auto smaller = [&](TrainingOptions& options) {
      options.better = Better::smaller;
      options.not_finite = not_finite;
    };
    Program first(kPlain, folder, false, smaller);
    for (int epoch = 0; epoch < 2; ++epoch) {
      ASSERT_TRUE(first.run->next_epoch());
      for (const auto& samples : first.run->minibatches(*first.batch, kSamples)) {
        first.run->update(Gradients(), 2, samples.size());
        if (epoch == 1) first.run->stop();
      }
      if (epoch == 0) first.run->finish_epoch(number);
    }
    const TrainingProgress before = first.run->progress();
    first.run.reset();
    Program second(kPlain, folder, true, smaller);
    const TrainingProgress& after = second.run->progress();
    EXPECT_EQ(after.updates, 8u);
    EXPECT_EQ(after.loss, before.loss);
    EXPECT_EQ(after.best_epoch, before.best_epoch);
    EXPECT_EQ(after.best_score, before.best_score);
    if (std::isinf(number)) {
      EXPECT_EQ(SavedModel(folder).number<double>("training.dev_score"), number);
    }
  }
}

// What a run that was killed has not written follows from its checkpoint.
TEST(TrainingFilesTest, CurvesAreThereAfterResuming) {
  const std::string folder = new_folder("curves");
  const fs::path csv = fs::path(folder) / "curve.csv", svg = fs::path(folder) / "curve.svg";
  Program(kPlain, folder).train();
  const std::string numbers = text_of(csv);
  std::ofstream(csv) << "epoch\n";
  fs::remove(svg);
  Program second(kPlain, folder, true);
  EXPECT_FALSE(second.run->next_epoch());
  EXPECT_EQ(text_of(csv), numbers);
  EXPECT_TRUE(fs::exists(svg));
}

TEST(TrainingFilesTest, NeedsAFolderToWriteIn) {
  const std::string folder = new_folder("no_folder");
  fs::create_directories(folder + "/best.safetensors");
  EXPECT_THROW(Program(kPlain, folder), FileError);
  EXPECT_FALSE(fs::exists(folder + "/checkpoint.safetensors"));
  std::ofstream(folder + "/file") << "x";
  EXPECT_THROW(Program(kPlain, folder + "/file"), FileError);
  EXPECT_THROW(Program(kPlain, folder + "/file/below"), FileError);
}

TEST(TrainingFilesTest, WritesWhatPeopleAndProgramsRead) {
  const std::string folder = new_folder("files");
  std::ostringstream lines;
  Program program(kPlain, folder, false, [&](TrainingOptions& options) {
    options.lines = &lines;
    options.events = true;
    options.score_name = "accuracy";
    options.unit = "numbers";
  });
  program.train({}, [](TrainingRun& run, int minibatch) { run.note("loss <2>", minibatch); });
  const std::string text = lines.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(text.find("epoch 1/3: loss 0."), 0u) << text;
  EXPECT_NE(text.find(" numbers/s, best so far\n"), std::string::npos) << text;
  const std::string csv = text_of(fs::path(folder) / "curve.csv");
  EXPECT_EQ(csv.find("epoch,dev accuracy,learning rate,loss <2>,train loss\n1,0."), 0u) << csv;
  EXPECT_NE(text_of(fs::path(folder) / "curve.svg").find("loss &lt;2&gt;"), std::string::npos);
  EXPECT_GT(fs::file_size(fs::path(folder) / "events.out.tfevents.0.run"), 300u);
  program.run->write_report(fs::path(folder) / "report.json", {{"test", 0.5}});
  EXPECT_NE(text_of(fs::path(folder) / "report.json").find("\"test\": 0.5"), std::string::npos);

  ParameterCollection model;
  Embedding numbers(model, kSamples, 4);
  Linear output(model, 4, 2);
  const SavedModel saved(folder);
  saved.load(model);
  EXPECT_EQ(as_vector(output.weights().values()), as_vector(program.output.weights().values()));
  EXPECT_EQ(saved.text("model"), "parity");
  EXPECT_EQ(saved.vocabulary("words").size(), 1u);
  EXPECT_EQ(saved.number<unsigned>("training.batch_size"), kBatch);
  EXPECT_THROW(saved.text("nothing"), FileError);
  EXPECT_THROW(saved.number<double>("model"), FileError);
}

// Also into a part of a model, whose values are then those that it had.
TEST(TrainingFilesTest, SavedModelsWithNaNChangeNothing) {
  const std::string folder = new_folder("nan");
  fs::create_directories(folder);
  const fs::path file = fs::path(folder) / "best.safetensors";
  ParameterCollection model;
  ParameterCollection part = model.add_subcollection("part");
  const Parameter first = part.add_parameters({2}, ParameterInitConst(1), "first");
  const Parameter second = part.add_parameters({2}, ParameterInitConst(2), "second");
  save_parameters(file.string(), part);
  const SavedModel good(folder);
  second.set_value({2, std::nanf("")});
  save_parameters(file.string(), part);
  const SavedModel bad(folder);
  first.set_value({3, 3});
  second.set_value({4, 4});
  const std::string message = message_of<NumericError>([&] { bad.load(part); });
  EXPECT_NE(message.find("got nan for \"/part/second\", element 1"), std::string::npos) << message;
  EXPECT_EQ(values_of(model), (std::vector<float>{3, 3, 4, 4}));
  good.load(part);
  EXPECT_EQ(values_of(model), (std::vector<float>{1, 1, 2, 2}));
}

TEST(TrainingFilesTest, EventsAreAppendedAfterResumingAndBeginAnewElse) {
  const std::string folder = new_folder("events");
  const fs::path file = fs::path(folder) / "events.out.tfevents.0.run";
  const auto train = [&](bool resume, unsigned epochs) {
    Program(kPlain, folder, resume, [&](TrainingOptions& options) {
      options.events = true;
      options.epochs = epochs;
    }).train();
    return text_of(file);
  };
  const std::string one = train(false, 1), two = train(true, 2), anew = train(false, 1);
  EXPECT_TRUE(two.starts_with(one));
  EXPECT_GT(two.size(), one.size());
  EXPECT_EQ(anew.size(), one.size());
}

TEST(TrainingFilesTest, LinesThatCannotBeWritten) {
  std::ostringstream lines;
  lines.setstate(std::ios::failbit);
  Program program(kPlain, "", false, [&](TrainingOptions& options) { options.lines = &lines; });
  EXPECT_THROW(program.train(), FileError);
  EXPECT_EQ(program.run->progress().epochs, 1u);
}

}  // namespace
}  // namespace dynet_like::nn

// What a training run keeps in its checkpoints for programs that go on: it may change.
#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "dynet_like/dynet_like.h"
#include "dynet_like/io/safetensors.h"
#include "nn/linear.h"
#include "nn/train.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;

/// Makes a run with these arguments, saves, and returns what its files have then.
Metadata saved(const fs::path& folder, bool resume, const Metadata& arguments) {
  ParameterCollection model;
  const Linear linear(model, 2, 2);
  AdamTrainer trainer(model);
  TrainingOptions options;
  options.output = folder;
  options.resume = resume;
  options.lines = nullptr;
  options.epochs = 1;
  options.settings = {{"size", "2"}};
  options.arguments = arguments;
  TrainingRun run(model, trainer, options);
  Minibatch batch;
  while (run.next_epoch()) {
    for (const auto& samples : run.minibatches(batch, 1)) {
      batch.add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t) {
        return cross_entropy(linear(input(graph, {2}, {1, 2})), 0);
      });
      run.update(batch);
    }
    run.finish_epoch();
  }
  run.save();
  return SafetensorsFile::read(folder / "checkpoint.safetensors").metadata();
}

TEST(TrainingArgumentsTest, AreKeptAndMayChange) {
  const fs::path folder = fs::path(testing::TempDir()) / "training_arguments";
  fs::remove_all(folder);
  EXPECT_EQ(saved(folder, false, {{"data", "here"}}).at("data"), "here");
  EXPECT_EQ(saved(folder, true, {{"data", "there"}}).at("data"), "there");
  EXPECT_FALSE(saved(folder, true, {}).contains("data"));
  // They are no part of the model.
  const auto model = SafetensorsFile::read(folder / "best.safetensors").metadata();
  EXPECT_FALSE(model.contains("data"));
  EXPECT_THROW(saved(folder, false, {{"training.epoch", "3"}}), UsageError);
  fs::remove_all(folder);
}

// Makes a run with these options.
void make(const std::function<void(TrainingOptions&)>& change) {
  ParameterCollection model;
  const Linear linear(model, 2, 2);
  AdamTrainer trainer(model);
  TrainingOptions options;
  change(options);
  TrainingRun run(model, trainer, options);
}

// One of two values under the same key would be lost: a file has both.
TEST(TrainingArgumentsTest, KeysAreGivenOnce) {
  const auto message = [](Metadata TrainingOptions::*const other) {
    return message_of<UsageError>([&] {
      make([&](TrainingOptions& options) {
        options.settings = {{"size", "2"}, {"words", "3"}};
        (options.*other)["words"] = "the\na\n";
      });
    });
  };
  const std::string need =
      "[TrainingRun] need other keys in settings than in texts and arguments; got \"words\" in "
      "settings and ";
  EXPECT_EQ(message(&TrainingOptions::texts), need + "texts");
  EXPECT_EQ(message(&TrainingOptions::arguments), need + "arguments");
  // These are in different files.
  EXPECT_NO_THROW(make([](TrainingOptions& options) {
    options.texts["words"] = options.arguments["words"] = "the";
  }));
}

// What the library keeps under its own names would be refused after an epoch, or lost.
TEST(TrainingArgumentsTest, NamesOfTheLibraryAreRefusedAtOnce) {
  for (const std::string key : {"dynet_like.seed", "training.seed"}) {
    for (Metadata TrainingOptions::*const metadata :
         {&TrainingOptions::settings, &TrainingOptions::arguments, &TrainingOptions::texts}) {
      EXPECT_EQ(message_of<UsageError>([&] {
                  make([&](TrainingOptions& options) { (options.*metadata)[key] = "1"; });
                }),
                "[TrainingRun] need keys of settings, texts and arguments that do not begin with "
                "\"training.\" or \"dynet_like.\"; got \"" +
                    key + '"');
    }
  }
  EXPECT_THROW(make([](TrainingOptions& options) { options.score_name = "epoch"; }), UsageError);
}

TEST(TrainingArgumentsTest, NotesDoNotHideColumnsOfTheRun) {
  ParameterCollection model;
  const Linear linear(model, 2, 2);
  AdamTrainer trainer(model);
  TrainingOptions options;
  options.score_name = "accuracy";
  TrainingRun run(model, trainer, options);
  for (const std::string column : {"epoch", "train loss", "learning rate", "dev accuracy"}) {
    EXPECT_EQ(message_of<UsageError>([&] { run.note(column, 1); }),
              "[TrainingRun] need a name for a note that the learning curve does not use; got \"" +
                  column + '"');
  }
  EXPECT_NO_THROW(run.note("dev loss", 1));
}

// What could not be saved is refused before an epoch is trained.
TEST(TrainingArgumentsTest, AreInUtf8) {
  const std::string other = "M\xFCll";
  EXPECT_EQ(message_of<UsageError>(
                [&] { make([&](TrainingOptions& options) { options.settings["name"] = other; }); }),
            "[TrainingRun] need text in UTF-8; got \"M\\xFCll\"");
  for (Metadata TrainingOptions::*const metadata :
       {&TrainingOptions::settings, &TrainingOptions::arguments, &TrainingOptions::texts}) {
    EXPECT_THROW(make([&](TrainingOptions& options) { (options.*metadata)["text"] = other; }),
                 UsageError);
    EXPECT_THROW(make([&](TrainingOptions& options) { (options.*metadata)[other] = "text"; }),
                 UsageError);
    EXPECT_NO_THROW(make([&](TrainingOptions& options) { (options.*metadata)["M\xC3\xBCll"]; }));
  }
  EXPECT_THROW(make([&](TrainingOptions& options) { options.score_name = other; }), UsageError);
  ParameterCollection model;
  const Linear linear(model, 2, 2);
  AdamTrainer trainer(model);
  TrainingRun run(model, trainer);
  EXPECT_THROW(run.note(other, 1), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn

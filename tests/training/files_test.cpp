// Files of training runs: what is written, what is refused, hostile checkpoints, shared folders.
#include <utility>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;

using namespace training_program;

TEST(TrainingFilesTest, GoesOnWithItsOwnFilesOnly) {
  const std::string folder = new_folder("own");
  const auto resume = [&](const Setting& setting = kPlain) { Program(setting, folder, true); };
  const std::string none =
      ": [TrainingRun] need the checkpoint of an earlier run to resume it; got none: set "
      "FileOptions::folder to that of the run, or resume to false";
  EXPECT_EQ(message_of<FileError>([&] { resume(); }), folder + none);
  fs::create_directories(folder);
  EXPECT_EQ(message_of<FileError>([&] { resume(); }), folder + "/checkpoint.safetensors" + none);
  Program(kPlain, folder).train();
  EXPECT_NO_THROW(resume());
  EXPECT_THROW(resume(kPlain.with([](auto& o) { o.files.texts["words"] = "another vocabulary"; })),
               FileError);
  fs::remove(fs::path(folder) / "best.safetensors");
  EXPECT_THROW(resume(), FileError);
}

// It is part of the state, unlike settings of the trainer.
TEST(TrainingFilesTest, TheLearningRateIsThatOfTheCheckpoint) {
  const std::string folder = new_folder("rate");
  Program(kPlain, folder).train();
  const Setting other = {"other", [](auto&) {}, [](Trainer& t) { t.learning_rate = 0.5f; }};
  EXPECT_EQ(Program(other, folder, true).trainer.learning_rate, 0.05f);
}

TEST(TrainingFilesTest, ArgumentsMayChangeAndAreNoPartOfTheModel) {
  const std::string folder = new_folder("arguments");
  const auto saved = [&](bool resume, const Metadata& arguments) {
    Program program(kPlain.with([&](auto& o) { o.files.arguments = arguments; }), folder, resume);
    program.train();
    program.run->save();
    return SafetensorsFile::read(fs::path(folder) / "checkpoint.safetensors").metadata();
  };
  EXPECT_EQ(saved(false, {{"data", "here"}}).at("data"), "here");
  EXPECT_EQ(saved(true, {{"data", "there"}}).at("data"), "there");
  EXPECT_FALSE(saved(true, {}).contains("data"));
  EXPECT_FALSE(SavedModel(folder).metadata().contains("data"));
}

TEST(TrainingFilesTest, HostileCheckpoints) {
  const std::string folder = new_folder("hostile");
  Program(kPlain, folder).train();
  const fs::path file = fs::path(folder) / "checkpoint.safetensors";
  Program program(kPlain);
  const ParameterCollection& model = program.model;
  AdamTrainer& trainer = program.trainer;
  Random random;
  const Metadata good = load_checkpoint(file, model, trainer, random);
  const std::map<std::string, std::vector<std::string>> wrong = {
      {"epochs", {"4", "-1"}},       {"best_epoch", {"99999999999999", "4"}},
      {"minibatches", {"1e300"}},    {"loss", {"much"}},
      {"best_score", {"nan"}},       {"seconds", {"inf", ""}},
      {"plateau_scale", {"nan"}},    {"without_loss", {"-1"}},
      {"without_loss_before", {""}}, {"curve", {"epoch\n1,\n", "epoch,\"x\n"}}};
  for (const auto& [key, values] : wrong) {
    for (const std::string& value : values) {
      Metadata bad = good;
      bad["training." + key] = value;
      save_checkpoint(file, model, trainer, random, bad);
      EXPECT_THROW(Program(kPlain, folder, true), FileError) << key << " " << value;
    }
  }
  Metadata later = good;
  later["training.best_epoch"] = "4";
  save_checkpoint(file, model, trainer, random, later);
  EXPECT_TRUE(mentions(message_of<FileError>([&] { Program(kPlain, folder, true); }),
                       "need a curve of all epochs, and the best among them; got 3 and 4 of 3"));
  save_checkpoint(file, model, trainer, random, good);
  EXPECT_NO_THROW(Program(kPlain, folder, true));
}

// A perplexity may be infinite at first; NaN is never the best.
TEST(TrainingFilesTest, ScoresNeedNotBeFinite) {
  for (const double number : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    SCOPED_TRACE(number);
    const std::string folder = new_folder("not_finite");
    const Setting setting = kPlain.with([](TrainingOptions& options) {
      options.stopping.better = Better::smaller;
      options.not_finite = NotFinite::skip;
    });
    Program first(setting, folder);
    for (int epoch = 0; epoch < 2; ++epoch) {
      ASSERT_TRUE(first.run->next_epoch(kSamples));
      while (first.run->next(*first.batch)) {
        first.run->update(Gradients(), 2, first.run->samples().size());
        if (epoch == 1) first.run->stop();
      }
      if (epoch == 0) first.run->finish_epoch(number);
    }
    const Outcome before = first.outcome();
    const double loss = first.run->progress().loss;
    first.run.reset();
    Program second(setting, folder, true);
    EXPECT_EQ(second.run->progress().updates, 8u);
    EXPECT_EQ(second.run->progress().loss, loss);
    EXPECT_TRUE(second.outcome() == before);
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
  const std::string numbers = file_contents(csv);
  std::ofstream(csv) << "epoch\n";
  fs::remove(svg);
  Program second(kPlain, folder, true);
  EXPECT_FALSE(second.run->next_epoch(kSamples));
  EXPECT_EQ(file_contents(csv), numbers);
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
  const Setting setting = kPlain.with([&](TrainingOptions& options) {
    options.report.lines = &lines;
    options.files.events = true;
    options.report.score_name = "accuracy";
    options.report.unit = "sentences";
  });
  Program program(setting, folder);
  program.train({}, [](TrainingRun& run, int minibatch) { run.note("loss <2>", minibatch); });
  const std::string text = lines.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
  EXPECT_EQ(text.find("epoch 1/3: loss "), 0u) << text;
  EXPECT_TRUE(mentions(text, " sentences/s, best so far\n"));
  const std::string csv = file_contents(fs::path(folder) / "curve.csv");
  EXPECT_EQ(csv.find("epoch,dev accuracy,learning rate,loss <2>,train loss\n1,-"), 0u) << csv;
  EXPECT_TRUE(mentions(file_contents(fs::path(folder) / "curve.svg"), "loss &lt;2&gt;"));
  EXPECT_GT(fs::file_size(fs::path(folder) / "events.out.tfevents.0.run"), 300u);
  program.run->write_report(fs::path(folder) / "report.json", {{"test", 0.5}});
  EXPECT_TRUE(mentions(file_contents(fs::path(folder) / "report.json"), "\"test\": 0.5"));

  const Program other(kPlain);
  const SavedModel saved(folder);
  saved.load(other.model);
  EXPECT_EQ(other.values(), program.values());
  EXPECT_EQ(saved.text("model"), "first word");
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
  EXPECT_TRUE(mentions(message, "got nan for \"/part/second\", element 1"));
  EXPECT_EQ(values_of(model), (std::vector<float>{3, 3, 4, 4}));
  good.load(part);
  EXPECT_EQ(values_of(model), (std::vector<float>{1, 1, 2, 2}));
}

// A run that resumes writes the epochs before anew.
TEST(TrainingFilesTest, EventsHaveAllEpochsOfTheRun) {
  const std::string folder = new_folder("events");
  const fs::path file = fs::path(folder) / "events.out.tfevents.0.run";
  const auto size = [&](bool resume, unsigned epochs) {
    const Setting setting = kPlain.with([&](TrainingOptions& options) {
      options.files.events = true;
      options.epochs = epochs;
    });
    Program(setting, folder, resume).train();
    return fs::file_size(file);
  };
  const auto one = size(false, 1), two = size(true, 2), whole = size(false, 2),
             anew = size(false, 1);
  EXPECT_GT(one, 100u);
  EXPECT_GT(two, one);
  EXPECT_EQ(two, whole);
  EXPECT_EQ(anew, one);
  // The field of the step, before that of the summary.
  const auto has_step = [&](char step) {
    return file_contents(file).find(std::string("\x10") + step + '\x2A') != std::string::npos;
  };
  EXPECT_TRUE(has_step(1));
  EXPECT_FALSE(has_step(0));
}

TEST(TrainingFoldersTest, AreOfOneRunAtATime) {
  const std::string folder = new_folder("one_run");
  const Setting events = kPlain.with([](auto& o) { o.files.events = true; });
  {
    Program first(events, folder);
    first.train();
    const std::string before = file_contents(fs::path(folder) / "events.out.tfevents.0.run");
    for (const bool resume : {false, true}) {
      EXPECT_EQ(message_of<FileError>([&] { Program(events, folder, resume); }),
                folder +
                    ": need a folder that no other run uses; got one in use by this program: "
                    "destroy the run that has it, or choose another folder");
    }
    EXPECT_EQ(file_contents(fs::path(folder) / "events.out.tfevents.0.run"), before);
  }
  EXPECT_NO_THROW(Program(kPlain, folder, true));
  EXPECT_NO_THROW(Program(kPlain, folder));
}

// Where there are no locks, as between machines that share a disk, the end tells.
TEST(TrainingFoldersTest, TheBestModelIsThatOfTheRun) {
  const std::string folder = new_folder("ours"), others = new_folder("others");
  const Setting worse = kPlain.with([](auto& o) { o.stopping.better = Better::smaller; });
  Setting slow = worse;
  slow.trainer = [](Trainer& trainer) { trainer.learning_rate = 0.01f; };
  Program(slow, others).train();
  const auto train = [&] {
    Program program(worse, folder);
    program.train({}, [&](TrainingRun&, int minibatch) {
      // Of the same program with the same settings: its score tells it apart.
      if (minibatch == 20)
        fs::copy_file(fs::path(others) / "best.safetensors", fs::path(folder) / "best.safetensors",
                      fs::copy_options::overwrite_existing);
    });
  };
  EXPECT_EQ(message_of<FileError>(train),
            folder +
                "/best.safetensors: need the best model of this run, of epoch 1; got that of "
                "another run: give every run a folder of its own");
}

}  // namespace
}  // namespace dynet_like::nn

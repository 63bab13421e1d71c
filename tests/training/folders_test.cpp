// One folder, one run: others are refused, and what got into it in another way is found.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "tests/support/message_of.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;

using namespace training_program;

const Setting kPlain = {"plain"};

TEST(TrainingFoldersTest, AreOfOneRunAtATime) {
  const std::string folder = new_folder("one_run");
  {
    Program first(kPlain, folder);
    for (const bool resume : {false, true}) {
      EXPECT_EQ(message_of<FileError>([&] { Program(kPlain, folder, resume); }),
                folder +
                    ": need a folder that no other run uses; got one in use by this program: "
                    "destroy the run that has it, or choose another folder");
    }
    first.train();
    EXPECT_THROW(Program(kPlain, folder), FileError);  // its last model may still be saved
  }
  EXPECT_NO_THROW(Program(kPlain, folder, true));
  EXPECT_NO_THROW(Program(kPlain, folder));
}

// A run that was refused has changed nothing.
TEST(TrainingFoldersTest, KeepTheFilesOfTheFirst) {
  const std::string folder = new_folder("first_run");
  const auto events = [](TrainingOptions& options) { options.events = true; };
  Program first(kPlain, folder, false, events);
  first.train();
  const std::string before = text_of(fs::path(folder) / "events.out.tfevents.0.run");
  EXPECT_THROW(Program(kPlain, folder, false, events), FileError);
  EXPECT_EQ(text_of(fs::path(folder) / "events.out.tfevents.0.run"), before);
}

// Where there are no locks, as between machines that share a disk, the end tells.
TEST(TrainingFoldersTest, TheBestModelIsThatOfTheRun) {
  const std::string folder = new_folder("ours"), others = new_folder("others");
  const auto worse = [](TrainingOptions& options) { options.better = Better::smaller; };
  const Setting slow = {"slow", worse, [](Trainer& trainer) { trainer.learning_rate = 0.01f; }};
  Program(slow, others).train();
  const auto train = [&] {
    Program program(kPlain, folder, false, worse);
    program.train({}, [&](TrainingRun&, int minibatch) {
      // Of the same program with the same settings: its score tells it apart.
      const fs::path best = fs::path(folder) / "best.safetensors";
      if (minibatch == 20)
        fs::copy_file(fs::path(others) / "best.safetensors", best,
                      fs::copy_options::overwrite_existing);
    });
  };
  const std::string message = message_of<FileError>(train);
  EXPECT_EQ(message, folder +
                         "/best.safetensors: need the best model of this run, of epoch 1; got that "
                         "of another run: give every run a folder of its own");
}

}  // namespace
}  // namespace dynet_like::nn

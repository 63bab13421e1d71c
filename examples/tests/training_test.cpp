// The training loop of the examples: what is interrupted and resumed has the bits of what is not.
#include "examples/support/training.h"

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/embedding.h"
#include "nn/linear.h"

namespace dynet_like::examples {
namespace {

constexpr unsigned kSamples = 50, kBatch = 8;

/// When Ctrl-C is pressed: in a minibatch, or in an epoch's evaluation.
struct Interruption {
  int step = -1, evaluation = -1;
};

/// Learns the parity of numbers by heart, with dropout.
class ParityTrainee : public Trainee {
 public:
  ParityTrainee(ParameterCollection& model, Interruption interruption)
      : numbers_(model, kSamples, 4),
        output_(model, 4, 2),
        interruption_(interruption),
        batch_(options()) {}

  Loss run(std::span<const std::uint32_t> samples, std::uint64_t step) override {
    if (static_cast<int>(step) == interruption_.step) std::raise(SIGINT);
    random_ = Random(3, step);
    batch_.clear();
    for (const std::uint32_t sample : samples) add_loss(sample, 0.2f);
    return {static_cast<double>(batch_.forward()), samples.size()};
  }
  const Gradients& gradients() override { return batch_.backward(); }
  double dev_score() override {
    if (interruption_.evaluation == evaluations_++) std::raise(SIGINT);
    batch_.clear();
    for (std::uint32_t sample = 0; sample < kSamples; ++sample) add_loss(sample, 0);
    return 1 - static_cast<double>(batch_.forward()) / kSamples;
  }

 private:
  GraphOptions options() {
    GraphOptions options;
    options.random = &random_;
    return options;
  }

  void add_loss(std::uint32_t sample, float rate) {
    ComputationGraph& graph = batch_.new_graph();
    const Expression x = dropout(numbers_(graph, sample), rate);
    batch_.add_loss(pickneglogsoftmax(output_(x), sample % 2));
  }

  nn::Embedding numbers_;
  nn::Linear output_;
  Interruption interruption_;
  int evaluations_ = 0;
  Random random_;
  Minibatch batch_;
};

/// A run from its own first or last state; returns whether it came to the end.
struct TrainingRun {
  TrainingRun(const std::string& output, unsigned epochs, bool resume,
              Interruption interruption = {}, const std::string& setting = "1")
      : trainee(model, interruption),
        trainer(model, 0.05f),
        training({.example = "parity",
                  .unit = "numbers",
                  .score_name = "score",
                  .epochs = epochs,
                  .batch_size = kBatch,
                  .learning_rate = 0.05f,
                  .decay = 0.9f,
                  .seed = 2,
                  .output = output,
                  .resume = resume,
                  .settings = {{"setting", setting}},
                  .vocabularies = {{"numbers", "0\t1\n"}}},
                 std::vector<std::uint32_t>(kSamples, 1), model, trainer, trainee),
        finished(training.run()) {}

  std::vector<float> values() const {
    std::vector<float> all;
    for (const auto& storage : model.storages()) {
      const std::vector<float> some = as_vector(storage->tensor());
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }

  ParameterCollection model;
  ParityTrainee trainee;
  AdamTrainer trainer;
  Training training;
  bool finished;
};

std::string new_folder(const char* name) {
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(folder);
  return folder;
}

TEST(TrainingTest, GoesOnWithTheSameBits) {
  const TrainingRun whole(new_folder("whole"), 3, false);
  EXPECT_TRUE(whole.finished);
  EXPECT_EQ(whole.training.progress().best_epoch, 3u);
  // Seven minibatches are an epoch: in the middle of one, in its last minibatch and in the first.
  for (const int step : {0, 3, 6, 7, 13, 16}) {
    const std::string folder = new_folder("parts");
    const TrainingRun first(folder, 3, false, {.step = step});
    EXPECT_FALSE(first.finished) << step;
    EXPECT_NE(first.values(), whole.values());
    const TrainingRun second(folder, 3, true);
    EXPECT_TRUE(second.finished);
    EXPECT_EQ(second.values(), whole.values()) << step;
    EXPECT_EQ(second.training.progress().epochs, 3u);
  }
}

TEST(TrainingTest, AFinishedRunGoesOnWithMoreEpochs) {
  const std::string folder = new_folder("more");
  EXPECT_TRUE(TrainingRun(folder, 1, false).finished);
  const TrainingRun more(folder, 3, true);
  EXPECT_EQ(more.values(), TrainingRun(new_folder("whole"), 3, false).values());
}

TEST(TrainingTest, ALateInterruptionIsNotIgnored) {
  const TrainingRun whole(new_folder("whole"), 2, false);
  for (const int evaluation : {0, 1}) {
    const std::string folder = new_folder("late");
    EXPECT_FALSE(TrainingRun(folder, 2, false, {.evaluation = evaluation}).finished) << evaluation;
    const TrainingRun rest(folder, 2, true);
    EXPECT_TRUE(rest.finished);
    EXPECT_EQ(rest.values(), whole.values()) << evaluation;
  }
}

TEST(TrainingTest, GoesOnWithItsOwnBestModelOnly) {
  const auto best = [](const std::string& folder) { return folder + "/best.safetensors"; };
  constexpr auto kOver = std::filesystem::copy_options::overwrite_existing;
  std::string one = new_folder("one");
  const std::string two = new_folder("two"), other = new_folder("other");
  TrainingRun(one, 1, false);
  TrainingRun(two, 2, false);
  TrainingRun(other, 2, false, {}, "2");

  // A run was killed after it saved the model of epoch 2, before it saved the checkpoint.
  std::filesystem::copy_file(best(two), best(one), kOver);
  const TrainingRun killed(one, 1, true);
  EXPECT_EQ(killed.training.progress().best_epoch, 2u);
  EXPECT_EQ(killed.values(), TrainingRun(two, 2, true).values());
  EXPECT_EQ(TrainingRun(one, 3, true).values(), TrainingRun(two, 3, true).values());

  // Another run was, in the same folder; or the model is an older one, or gone.
  std::filesystem::copy_file(best(other), best(two), kOver);
  EXPECT_THROW(TrainingRun(two, 4, true), FileError);
  one = new_folder("one");
  TrainingRun(one, 1, false);
  std::filesystem::copy_file(best(one), best(two), kOver);
  EXPECT_THROW(TrainingRun(two, 4, true), FileError);
  std::filesystem::remove(best(two));
  EXPECT_THROW(TrainingRun(two, 4, true), FileError);
}

TEST(TrainingTest, NeedsAFolderToWriteIn) {
  const std::string folder = new_folder("no_folder");
  std::filesystem::create_directories(folder + "/best.safetensors");
  EXPECT_THROW(TrainingRun(folder, 1, false), FileError);
  EXPECT_FALSE(std::filesystem::exists(folder + "/checkpoint.safetensors"));  // it never began
}

TEST(TrainingTest, NeedsTheSameSettings) {
  const std::string folder = new_folder("settings");
  EXPECT_THROW(TrainingRun(folder, 1, true), FileError);
  EXPECT_TRUE(TrainingRun(folder, 1, false).finished);
  EXPECT_THROW(TrainingRun(folder, 2, true, {}, "2"), UsageError);
  EXPECT_NO_THROW(TrainingRun(folder, 2, true));
}

}  // namespace
}  // namespace dynet_like::examples

// What the bits of a run depend on, as its checkpoint has it: what may change, and what may not.
#include "dynet_like/core/version.h"
#include "dynet_like/device/instruction_set.h"
#include "dynet_like/io/checkpoint.h"
#include "nn/embedding.h"
#include "tests/support/device_memory.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/training/small_training.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;

// Where ranks do not wait, bits depend on timing. How far they may drift apart may change, since
// after a failure there may be fewer of them.
TEST(RunSettingsTest, ThatRanksWaitIsOfTheCheckpoint) {
  const fs::path folder = settings_folder();
  const auto make = [&](bool resume, const std::optional<Relaxation>& relaxation) {
    Training training(folder, resume);
    training.options.ranks.relaxation = relaxation;
    training.begin();
  };
  make(false, Relaxation{.staleness = 4});
  EXPECT_NO_THROW(make(true, Relaxation{.staleness = 8}));
  for (const std::optional<Relaxation>& none :
       {std::optional<Relaxation>(), std::optional(Relaxation{.staleness = 0})}) {
    const std::string message = message_of<UsageError>([&] { make(true, none); });
    EXPECT_TRUE(mentions(message, "training.ranks wait for each other was \"no\"; got \"yes\""));
  }
}

// No bit depends on these.
TEST(RunSettingsTest, OthersMayChange) {
  const fs::path folder = settings_folder();
  Training(folder).begin();
  for (const std::function<void(TrainingOptions&)>& change :
       std::vector<std::function<void(TrainingOptions&)>>{
           [](TrainingOptions& options) { options.epochs = 3; },
           [](TrainingOptions& options) { options.stopping.patience = 3; },
           [](TrainingOptions& options) { options.not_finite = NotFinite::skip; },
           [](TrainingOptions& options) { options.graph.threads = 3; },
           [](TrainingOptions& options) { options.graph.policy = batching::Policy::depth; },
           [](TrainingOptions& options) { options.files.arguments["data"] = "elsewhere"; },
           [](TrainingOptions& options) { options.report.unit = "words"; }}) {
    Training training(folder, true);
    change(training.options);
    EXPECT_NO_THROW(training.begin());
  }
}

/// A checkpoint in the folder, with changed metadata.
void save_with(const fs::path& folder, const Metadata& changes) {
  Training training(folder);
  training.begin();
  const std::string file = folder / "checkpoint.safetensors";
  Random random;
  Metadata metadata = load_checkpoint(file, training.model, *training.trainer, random);
  for (const auto& [key, value] : changes) metadata[key] = value;
  save_checkpoint(file, training.model, *training.trainer, random, metadata);
}

TEST(RunSettingsTest, LastBitsMayDifferIfYouSaySo) {
  const fs::path folder = settings_folder();
  const auto resume = [&](bool other_bits) {
    Training training(folder, true);
    training.options.files.other_bits = other_bits;
    training.begin();
  };
  for (const auto& [name, now] :
       Metadata{{"training.library version", version()},
                {"training.instruction set", instruction_set()},
                {"training.device", default_device()->is_cpu() ? "cpu" : ""}}) {
    save_with(folder, {{name, "other"}});
    const std::string message = message_of<UsageError>([&] { resume(false); });
    EXPECT_TRUE(mentions(message, name + " was \"other\"; got \"" + now));
    EXPECT_TRUE(mentions(message, "or set FileOptions::other_bits"));
    EXPECT_NO_THROW(resume(true));
    EXPECT_NO_THROW(resume(false));  // it was saved here
  }
  save_with(folder, {{"size", "4"}});
  EXPECT_THROW(resume(true), UsageError);
}

TEST(RunSettingsTest, AreListedInACheckpoint) {
  for (const char* const names : {"", "{}", "[1]", "[\"size\"", "size"}) {
    const fs::path folder = settings_folder();
    save_with(folder, {{"training.settings", names}});
    Training training(folder, true);
    const std::string message = message_of<FileError>([&] { training.begin(); });
    EXPECT_TRUE(mentions(message, "need the names of a run's settings in it; got none"));
  }
}

/// Words whose columns are rows of a table.
std::vector<float> train_words(const fs::path& folder, unsigned epochs, bool resume,
                               const GraphOptions& graph, std::size_t samples = 60,
                               const std::vector<std::uint32_t>& sizes = {}) {
  ParameterCollection model(1);
  const Embedding words(model, 5, 4);
  const Parameter w = model.add_parameters({4, 4});
  const auto read =
      recursion<Expression>([w](const Expression& x, const std::vector<Expression>& before) {
        return before.empty() ? tanh(w * x) : tanh(w * x + before[0]);
      });
  AdamTrainer trainer(model, 0.01f);
  TrainingOptions options = {.epochs = epochs, .report = {.lines = nullptr}};
  options.files.folder = folder;
  options.files.resume = resume;
  options.graph = graph;
  options.sizes = sizes;
  train(
      trainer, samples,
      [&](ComputationGraph& sample, std::size_t i) {
        const auto n = static_cast<std::uint32_t>(i);
        const std::vector<std::uint32_t> rows = {n % 2, n % 3, n % 5};
        return squared_norm(read(Structure::sequence(3), words.columns(sample, rows)).all());
      },
      options);
  return values_of(model);
}

TEST(RunSettingsTest, SharingIsCompared) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "vertices are shared on a CPU alone";
  const fs::path folder = settings_folder();
  const auto whole = train_words(folder / "whole", 3, false, {.threads = 1});
  const auto shared =
      train_words(folder / "shared", 3, false, {.threads = 1, .share_repeated = true});
  EXPECT_NE(whole, shared);  // in last bits
  train_words(folder / "parts", 1, false, {.threads = 1});
  EXPECT_THROW(train_words(folder / "parts", 3, true, {.threads = 1, .share_repeated = true}),
               UsageError);
  EXPECT_EQ(train_words(folder / "parts", 3, true, {.threads = 2}), whole);
  train_words(folder / "shared_parts", 1, false, {.threads = 1, .share_repeated = true});
  for (const GraphOptions& other :
       {GraphOptions{.threads = 1}, GraphOptions{.threads = 2, .share_repeated = true},
        GraphOptions{.policy = batching::Policy::depth, .threads = 1, .share_repeated = true},
        GraphOptions{.threads = 1, .share_repeated = true, .memory_limit = 1}}) {
    EXPECT_THROW(train_words(folder / "shared_parts", 3, true, other), UsageError);
  }
  EXPECT_EQ(train_words(folder / "shared_parts", 3, true, {.threads = 1, .share_repeated = true}),
            shared);
}

TEST(RunSettingsTest, SamplesAreCompared) {
  const fs::path folder = settings_folder();
  std::vector<std::uint32_t> sizes(60);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i % 7;
  const auto whole = train_words(folder / "whole", 3, false, {}, 60, sizes);
  train_words(folder / "parts", 1, false, {}, 60, sizes);
  std::vector<std::uint32_t> others = sizes;
  others[3] = 9;
  EXPECT_TRUE(
      mentions(message_of<UsageError>([&] { train_words(folder / "parts", 3, true, {}, 60); }),
               "training.samples was \"60, sizes "));
  EXPECT_THROW(train_words(folder / "parts", 3, true, {}, 60, others), UsageError);
  EXPECT_THROW(train_words(folder / "parts", 3, true, {}, 59), UsageError);
  EXPECT_EQ(train_words(folder / "parts", 3, true, {}, 60, sizes), whole);
}

// In a loop of your own, the minibatch has the options.
TEST(RunSettingsTest, AMinibatchHasTheOptionsOfItsRun) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "vertices are shared on a CPU alone";
  Training training;
  TrainingRun run(*training.trainer, training.options);
  ASSERT_TRUE(run.next_epoch(3));
  Minibatch other({.share_repeated = true}), same({.threads = 2, .detect_anomaly = true});
  EXPECT_EQ(message_of<UsageError>([&] { run.next(other); }),
            "[TrainingRun] need a minibatch with the options of TrainingOptions::graph, on which "
            "bits depend: none; got share_repeated, auto: make both with "
            "the same GraphOptions");
  ASSERT_TRUE(run.next_epoch(3));
  EXPECT_TRUE(run.next(same));
}

}  // namespace
}  // namespace dynet_like::nn

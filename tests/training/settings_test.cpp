// What the bits of a run depend on: a run that resumes with others, and ranks that have others, are
// told which.
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynet_like/core/version.h"
#include "dynet_like/device/instruction_set.h"
#include "dynet_like/dynet_like.h"
#include "dynet_like/io/checkpoint.h"
#include "dynet_like/io/safetensors.h"
#include "nn/embedding.h"
#include "nn/train.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;

fs::path new_folder() {
  const fs::path folder = fs::path(testing::TempDir()) / "training_settings";
  fs::remove_all(folder);
  return folder;
}

/// What a run is made of.
struct Parts {
  ParameterCollection model;
  Parameter w, v;
  std::unique_ptr<Trainer> trainer;
  TrainingOptions options;

  explicit Parts(const fs::path& folder = {}, bool resume = false, bool v_first = false) {
    ParameterCollection part = model.add_subcollection("part");
    if (v_first) v = part.add_parameters({1}, ParameterInitConst(1), "v");
    w = part.add_parameters({1}, ParameterInitConst(1), "w");
    if (!v_first) v = part.add_parameters({1}, ParameterInitConst(1), "v");
    trainer = std::make_unique<AdamTrainer>(model, 0.5f);
    options.shards = 2;
    options.output = folder;
    options.resume = resume;
    options.settings = {{"size", "3"}};
    options.lines = nullptr;
    options.watch_interrupts = false;
  }
};

struct Difference {
  const char* name;
  std::function<void(Parts&)> apply;
  std::string what;  // the name, and both values
};

void PrintTo(const Difference& difference, std::ostream* out) { *out << difference.name; }

std::string changed(const std::string& name, const std::string& then, const std::string& now) {
  return name + '|' + then + '|' + now;
}

std::vector<Difference> differences_of_options() {
  const auto own = [](const std::string& name, const std::string& then, const std::string& now) {
    return changed("training." + name, '"' + then + '"', '"' + now + '"');
  };
  return {
      {"Setting", [](Parts& parts) { parts.options.settings["size"] = "4"; },
       changed("size", "\"3\"", "\"4\"")},
      {"NewSetting", [](Parts& parts) { parts.options.settings["depth"] = "4"; },
       changed("depth", "nothing", "\"4\"")},
      {"LostSetting", [](Parts& parts) { parts.options.settings.clear(); },
       changed("size", "\"3\"", "nothing")},
      {"BatchSize", [](Parts& parts) { parts.options.batch_size = 16; },
       own("batch_size", "32", "16")},
      {"Accumulate", [](Parts& parts) { parts.options.accumulate = 2; },
       own("accumulate", "1", "2")},
      {"SumLosses", [](Parts& parts) { parts.options.sum_losses = true; },
       own("sum_losses", "no", "yes")},
      {"Better", [](Parts& parts) { parts.options.better = Better::smaller; },
       own("better", "larger", "smaller")},
      {"Schedule", [](Parts& parts) { parts.options.schedule = 0.25f; },
       own("schedule", "none", "ConstantRate(0.25)")},
      {"ByEpoch", [](Parts& parts) { parts.options.schedule_by_epoch = true; },
       own("schedule_by_epoch", "no", "yes")},
      {"Groups",
       [](Parts& parts) {
         parts.options.groups = {{2, {{.pattern = "*", .rate = 0.5f}}}};
       },
       own("groups", "none", "from epoch 2: \"*\": rate 0.5")},
      {"Seed", [](Parts& parts) { parts.options.seed = 2; }, own("seed", "1", "2")},
      {"Shards", [](Parts& parts) { parts.options.shards = 3; }, own("shards", "2", "3")},
      {"ShareRepeated", [](Parts& parts) { parts.options.graph.share_repeated = true; },
       own("graph", "none", "share_repeated, auto")},
  };
}

std::vector<Difference> differences_of_trainer_and_parameters() {
  const auto own = [](const std::string& name, const std::string& then, const std::string& now) {
    return changed("trainer's " + name, '"' + then + '"', '"' + now + '"');
  };
  return {
      {"Clipping", [](Parts& parts) { parts.trainer->enable_clipping(3); },
       own("clipping threshold", "0", "3")},
      {"Decay", [](Parts& parts) { parts.trainer->weight_decay = 0.25f; },
       own("weight decay", "0", "0.25")},
      {"Rows", [](Parts& parts) { parts.trainer->sparse_updates = SparseUpdates::exact; },
       own("sparse updates", "lazy", "exact")},
      {"Average", [](Parts& parts) { parts.trainer->exponential_moving_average(0.75f); },
       own("moving average", "None(beta=0, update_freq=1)",
           "Exponential(beta=0.75, update_freq=1)")},
      {"Kind",
       [](Parts& parts) { parts.trainer = std::make_unique<SimpleSGDTrainer>(parts.model, 0.5f); },
       changed("trainer's kind", "\"AdamTrainer(beta_1=0.9, beta_2=0.999, ep...\"",
               "\"SimpleSGDTrainer()\"")},
      {"Collection",
       [](Parts& parts) {
         parts.trainer = std::make_unique<AdamTrainer>(parts.model.add_subcollection("rest"), 0.5f);
       },
       own("collection", "/", "/rest/")},
      {"NotUpdated", [](Parts& parts) { parts.w.set_updated(false); },
       changed("training.parameters", "\"/part/w; /part/v\"", "\"/part/w, not updated; /part/v\"")},
      {"Frozen", [](Parts& parts) { parts.v.get_storage().frozen = true; },
       changed("training.parameters", "\"/part/w; /part/v\"", "\"/part/w; /part/v, frozen\"")},
      {"Order",
       [](Parts& parts) { parts = Parts(parts.options.output, parts.options.resume, true); },
       changed("training.parameters", "\"/part/w; /part/v\"", "\"/part/v; /part/w\"")},
  };
}

std::vector<Difference> differences() {
  std::vector<Difference> all = differences_of_options();
  if (!default_device()->is_cpu()) all.pop_back();  // vertices are shared on a CPU alone
  const std::vector<Difference> more = differences_of_trainer_and_parameters();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// "name|then|now" in a message, for both places.
std::vector<std::string> parts_of(const std::string& what) {
  std::vector<std::string> parts(1);
  for (const char c : what)
    c == '|' ? static_cast<void>(parts.emplace_back()) : parts.back().push_back(c);
  return parts;
}

class RunSettings : public testing::TestWithParam<Difference> {};
INSTANTIATE_TEST_SUITE_P(All, RunSettings, testing::ValuesIn(differences()),
                         [](const auto& test) { return test.param.name; });

TEST_P(RunSettings, AreThoseOfTheCheckpoint) {
  const fs::path folder = new_folder();
  {
    Parts parts(folder);
    TrainingRun(parts.model, *parts.trainer, parts.options).save();
  }
  {
    Parts same(folder, true);
    EXPECT_NO_THROW(TrainingRun(same.model, *same.trainer, same.options));
  }
  Parts other(folder, true);
  GetParam().apply(other);
  other.options.ranks = nullptr;
  const std::string message =
      message_of<UsageError>([&] { TrainingRun(other.model, *other.trainer, other.options); });
  const std::vector<std::string> expected = parts_of(GetParam().what);
  EXPECT_EQ(message.find("[TrainingRun] need the same settings to go on from " +
                         (folder / "checkpoint.safetensors").string() + ": "),
            0u);
  EXPECT_NE(message.find(expected[0] + " was " + expected[1] + "; got " + expected[2]),
            std::string::npos)
      << message;
}

TEST_P(RunSettings, AreThoseOfAllRanks) {
  const std::string message = message_of<UsageError>([&] {
    run_ranks(2, [&](const std::shared_ptr<Communicator>& ranks) {
      Parts parts;
      if (ranks->rank() == 1) GetParam().apply(parts);
      parts.options.ranks = ranks;
      TrainingRun(parts.model, *parts.trainer, parts.options);
    });
  });
  const std::vector<std::string> expected = parts_of(GetParam().what);
  EXPECT_NE(message.find("got as " + expected[0] + ": " + expected[1] +
                         " on rank 0 (thread), and " + expected[2] + " on rank 1 (thread)"),
            std::string::npos)
      << message;
}

// Where ranks do not wait, bits depend on timing. How far they may drift apart may change, since
// after a failure there may be fewer of them.
TEST(RunSettingsTest, ThatRanksWaitIsOfTheCheckpoint) {
  const fs::path folder = new_folder();
  const auto make = [&](bool resume, const std::optional<Relaxation>& relaxation) {
    Parts parts(folder, resume);
    parts.options.relaxation = relaxation;
    TrainingRun(parts.model, *parts.trainer, parts.options).save();
  };
  make(false, Relaxation{.staleness = 4});
  EXPECT_NO_THROW(make(true, Relaxation{.staleness = 8}));
  for (const std::optional<Relaxation>& none :
       {std::optional<Relaxation>(), std::optional(Relaxation{.staleness = 0})}) {
    const std::string message = message_of<UsageError>([&] { make(true, none); });
    EXPECT_NE(message.find("training.ranks wait for each other was \"no\"; got \"yes\""),
              std::string::npos)
        << message;
  }
}

// No bit depends on these.
TEST(RunSettingsTest, OthersMayChange) {
  const fs::path folder = new_folder();
  {
    Parts parts(folder);
    TrainingRun(parts.model, *parts.trainer, parts.options).save();
  }
  for (const std::function<void(TrainingOptions&)>& change :
       std::vector<std::function<void(TrainingOptions&)>>{
           [](TrainingOptions& options) { options.epochs = 3; },
           [](TrainingOptions& options) { options.patience = 3; },
           [](TrainingOptions& options) { options.not_finite = NotFinite::skip; },
           [](TrainingOptions& options) { options.graph.threads = 3; },
           [](TrainingOptions& options) { options.graph.policy = batching::Policy::depth; },
           [](TrainingOptions& options) { options.arguments["data"] = "elsewhere"; },
           [](TrainingOptions& options) { options.unit = "words"; }}) {
    Parts parts(folder, true);
    change(parts.options);
    EXPECT_NO_THROW(TrainingRun(parts.model, *parts.trainer, parts.options));
  }
}

// Ranks must agree on them all the same: a rank would end before the others.
TEST(RunSettingsTest, RanksDoTheSame) {
  const std::vector<std::pair<std::string, std::function<void(TrainingOptions&)>>> changes = {
      {"staleness: \"0\" on rank 0 (thread), and \"4\"",
       [](TrainingOptions& options) { options.relaxation = Relaxation{.staleness = 4}; }},
      {"epochs to train: \"10\" on rank 0 (thread), and \"3\"",
       [](TrainingOptions& options) { options.epochs = 3; }},
      {"patience: \"0\" on rank 0 (thread), and \"2\"",
       [](TrainingOptions& options) { options.patience = 2; }},
      {"not finite: \"fail\" on rank 0 (thread), and \"skip\"",
       [](TrainingOptions& options) { options.not_finite = NotFinite::skip; }},
  };
  for (const auto& [what, change] : changes) {
    const std::string message = message_of<UsageError>([&other = change] {
      run_ranks(2, [&](const std::shared_ptr<Communicator>& ranks) {
        Parts parts;
        parts.options.ranks = ranks;
        if (ranks->rank() == 1) other(parts.options);
        TrainingRun(parts.model, *parts.trainer, parts.options);
      });
    });
    EXPECT_NE(message.find("got as " + what), std::string::npos) << message;
  }
}

/// A checkpoint in the folder, with changed metadata.
void save_with(const fs::path& folder, const Metadata& changes) {
  Parts parts(folder);
  TrainingRun(parts.model, *parts.trainer, parts.options).save();
  const std::string file = folder / "checkpoint.safetensors";
  Random random;
  Metadata metadata = load_checkpoint(file, parts.model, *parts.trainer, random);
  for (const auto& [key, value] : changes) metadata[key] = value;
  save_checkpoint(file, parts.model, *parts.trainer, random, metadata);
}

TEST(RunSettingsTest, LastBitsMayDifferIfYouSaySo) {
  const fs::path folder = new_folder();
  const auto resume = [&](bool other_bits) {
    Parts parts(folder, true);
    parts.options.other_bits = other_bits;
    TrainingRun run(parts.model, *parts.trainer, parts.options);
    run.save();
  };
  for (const auto& [name, now] :
       Metadata{{"training.library version", version()},
                {"training.instruction set", instruction_set()},
                {"training.device", default_device()->is_cpu() ? "cpu" : ""}}) {
    save_with(folder, {{name, "other"}});
    const std::string message = message_of<UsageError>([&] { resume(false); });
    EXPECT_NE(message.find(name + " was \"other\"; got \"" + now), std::string::npos) << message;
    EXPECT_NE(message.find("or set TrainingOptions::other_bits"), std::string::npos) << message;
    EXPECT_NO_THROW(resume(true));
    EXPECT_NO_THROW(resume(false));  // it was saved here
  }
  save_with(folder, {{"size", "4"}});
  EXPECT_THROW(resume(true), UsageError);
}

TEST(RunSettingsTest, AreListedInACheckpoint) {
  for (const char* const names : {"", "{}", "[1]", "[\"size\"", "size"}) {
    const fs::path folder = new_folder();
    save_with(folder, {{"training.settings", names}});
    Parts parts(folder, true);
    const std::string message =
        message_of<FileError>([&] { TrainingRun(parts.model, *parts.trainer, parts.options); });
    EXPECT_NE(message.find("need the names of a run's settings in it; got none"), std::string::npos)
        << message;
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
  TrainingOptions options = {.epochs = epochs, .lines = nullptr};
  options.output = folder;
  options.resume = resume;
  options.graph = graph;
  options.sizes = sizes;
  train(
      model, trainer, samples,
      [&](ComputationGraph& sample, std::size_t i) {
        const auto n = static_cast<std::uint32_t>(i);
        const std::vector<std::uint32_t> rows = {n % 2, n % 3, n % 5};
        return squared_norm(read(Structure::sequence(3), words.columns(sample, rows)).all());
      },
      options);
  std::vector<float> values;
  for (const auto& parameter : model.storages()) {
    for (const float value : as_vector(parameter->tensor())) values.push_back(value);
  }
  return values;
}

TEST(RunSettingsTest, SharingIsCompared) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "vertices are shared on a CPU alone";
  const fs::path folder = new_folder();
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
  const fs::path folder = new_folder();
  std::vector<std::uint32_t> sizes(60);
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = i % 7;
  const auto whole = train_words(folder / "whole", 3, false, {}, 60, sizes);
  train_words(folder / "parts", 1, false, {}, 60, sizes);
  std::vector<std::uint32_t> others = sizes;
  others[3] = 9;
  EXPECT_NE(message_of<UsageError>([&] {
              train_words(folder / "parts", 3, true, {}, 60);
            }).find("training.samples was \"60, sizes "),
            std::string::npos);
  EXPECT_THROW(train_words(folder / "parts", 3, true, {}, 60, others), UsageError);
  EXPECT_THROW(train_words(folder / "parts", 3, true, {}, 59), UsageError);
  EXPECT_EQ(train_words(folder / "parts", 3, true, {}, 60, sizes), whole);
}

// In a loop of your own, the minibatch has the options.
TEST(RunSettingsTest, AMinibatchHasTheOptionsOfItsRun) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "vertices are shared on a CPU alone";
  Parts parts;
  TrainingRun run(parts.model, *parts.trainer, parts.options);
  ASSERT_TRUE(run.next_epoch());
  Minibatch other({.share_repeated = true}), same({.threads = 2, .detect_anomaly = true});
  EXPECT_EQ(message_of<UsageError>([&] { run.minibatches(other, 3); }),
            "[TrainingRun] need a minibatch with the options of TrainingOptions::graph, on which "
            "bits depend: none; got share_repeated, auto: make both with "
            "the same GraphOptions");
  EXPECT_NO_THROW(run.minibatches(same, 3));
}

}  // namespace
}  // namespace dynet_like::nn

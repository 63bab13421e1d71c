// What the bits of a run depend on: what may differ from its checkpoint and between ranks, when
// they begin or while they train, and what is refused by name.
#include <ostream>

#include "dynet_like/core/version.h"
#include "dynet_like/device/instruction_set.h"
#include "dynet_like/distributed/alike.h"
#include "dynet_like/distributed/parameter_server.h"
#include "dynet_like/io/checkpoint.h"
#include "nn/embedding.h"
#include "nn/train.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/device_memory.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

namespace fs = std::filesystem;
using Ranks = std::shared_ptr<Communicator>;

std::filesystem::path settings_folder() {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "training_settings";
  std::filesystem::remove_all(folder);
  return folder;
}

/// What a run is made of.
struct Training {
  ParameterCollection model, part = model.add_subcollection("part");
  Parameter w, v;
  LookupParameter table;
  std::unique_ptr<Trainer> trainer;
  TrainingOptions options;

  explicit Training(const std::filesystem::path& folder = {}, bool resume = false,
                    bool v_first = false) {
    if (v_first) v = part.add_parameters({2}, ParameterInitConst(1), "v");
    w = part.add_parameters({2}, ParameterInitConst(1), "w");
    if (!v_first) v = part.add_parameters({2}, ParameterInitConst(1), "v");
    table = part.add_lookup_parameters(6, {2}, ParameterInitConst(1), "table");
    use<AdamTrainer>(0.5f);
    options.epochs = 3;
    options.batch_size = 2;
    options.ranks.shards = 2;
    options.files.folder = folder;
    options.files.resume = resume;
    options.files.settings = {{"size", "3"}};
    options.report.lines = nullptr;
    options.stopping.watch_interrupts = false;
  }
  Training(const std::shared_ptr<Communicator>& ranks, bool is_relaxed) : Training() {
    options.ranks.communicator = ranks;
    if (is_relaxed) options.ranks.relaxation = Relaxation{};
  }

  template <class TrainerType, class... Arguments>
  void use(Arguments... arguments) {
    trainer = std::make_unique<TrainerType>(model, arguments...);
  }
  /// Makes a run, and lets it save if there is a folder.
  void begin() {
    TrainingRun run(*trainer, options);
    if (!options.files.folder.empty()) run.save();
  }
};

struct Difference {
  const char* name;
  std::function<void(Training&)> apply;
  /// What differs, and both values: "name|then|now"; or a part of the message to ranks.
  std::string what;
  bool is_in_checkpoint = true;
  bool is_of_trainer = false;   ///< or of the parameters: without a run, it can differ, too
  bool may_come_later = false;  ///< it may be changed while a run trains
};

void PrintTo(const Difference& difference, std::ostream* out) { *out << difference.name; }

std::string quoted(const std::string& name, const std::string& then, const std::string& now) {
  return name + "|\"" + then + "\"|\"" + now + '"';
}

std::vector<Difference> differences_of_options() {
  const auto own = [](const std::string& name, const std::string& then, const std::string& now) {
    return quoted("training." + name, then, now);
  };
  std::vector<Difference> all = {
      {"Setting", [](auto& t) { t.options.files.settings["size"] = "4"; },
       quoted("size", "3", "4")},
      {"NewSetting", [](auto& t) { t.options.files.settings["depth"] = "4"; },
       "depth|nothing|\"4\""},
      {"LostSetting", [](auto& t) { t.options.files.settings.clear(); }, "size|\"3\"|nothing"},
      {"BatchSize", [](auto& t) { t.options.batch_size = 16; }, own("batch_size", "2", "16")},
      {"Accumulate", [](auto& t) { t.options.accumulate = 2; }, own("accumulate", "1", "2")},
      {"SumLosses", [](auto& t) { t.options.sum_losses = true; }, own("sum_losses", "no", "yes")},
      {"Better", [](auto& t) { t.options.stopping.better = Better::smaller; },
       own("better", "larger", "smaller")},
      {"Schedule", [](auto& t) { t.options.schedule.rate = 0.25f; },
       own("schedule", "none", "ConstantRate(0.25)")},
      {"ByEpoch", [](auto& t) { t.options.schedule.by_epoch = true; },
       own("schedule_by_epoch", "no", "yes")},
      {"Plateau", [](auto& t) { t.options.schedule.plateau = Plateau{}; },
       own("plateau", "none", "Plateau(factor=0.5, patience=0, least=0)")},
      {"Groups",
       [](auto& t) {
         t.options.schedule.groups = {{2, {{.pattern = "*", .rate = 0.5f}}}};
       },
       own("groups", "none", "from epoch 2: \"*\": rate 0.5")},
      {"Seed", [](auto& t) { t.options.seed = 2; }, own("seed", "1", "2")},
      {"Shards", [](auto& t) { t.options.ranks.shards = 3; }, own("shards", "2", "3")},
      // Ranks must agree on these all the same: one would end before the others.
      {"Staleness", [](auto& t) { t.options.ranks.relaxation = Relaxation{.staleness = 4}; },
       quoted("staleness", "0", "4"), false},
      {"Epochs", [](auto& t) { t.options.epochs = 4; }, quoted("epochs to train", "3", "4"), false},
      {"Patience", [](auto& t) { t.options.stopping.patience = 2; }, quoted("patience", "0", "2"),
       false},
      {"NotFinite", [](auto& t) { t.options.not_finite = NotFinite::skip; },
       quoted("not finite", "fail", "skip"), false},
  };
  if (default_device()->is_cpu()) {  // vertices are shared on a CPU alone
    all.push_back({"ShareRepeated", [](auto& t) { t.options.graph.share_repeated = true; },
                   own("graph", "none", "share_repeated, auto")});
  }
  return all;
}

std::vector<Difference> differences_of_trainers() {
  const auto own = [](const std::string& name, const std::string& then, const std::string& now) {
    return quoted("trainer's " + name, then, now);
  };
  const auto groups = [](const ParameterGroup& group) {
    return [group](Training& t) { t.trainer->set_groups({group}); };
  };
  const std::string kind = "AdamTrainer(beta_1=0.9, beta_2=0.999, ep...";
  return {
      {"Rate", [](auto& t) { t.trainer->learning_rate = 0.25f; },
       own("learning rate", "0.5", "0.25"), false, true, true},
      {"Clipping", [](auto& t) { t.trainer->enable_clipping(3); },
       own("clipping threshold", "0", "3"), true, true, true},
      {"Decay", [](auto& t) { t.trainer->weight_decay = 0.25f; }, own("weight decay", "0", "0.25"),
       true, true, true},
      {"Rows", [](auto& t) { t.trainer->sparse_updates = SparseUpdates::exact; },
       own("sparse updates", "lazy", "exact"), true, true, true},
      {"RateOfAGroup", groups({.pattern = "*/w", .rate = 0.5f}), "trainer's kind", true, true,
       true},
      {"DecayOfAGroup", groups({.pattern = "*/w", .weight_decay = 0.5f}), "trainer's kind", true,
       true, true},
      {"FrozenGroup", groups({.pattern = "*/w", .frozen = true}), "trainer's kind", true, true,
       true},
      {"Cycle", [](auto& t) { t.trainer->follow({}); }, "trainer's kind", true, true, true},
      {"Average", [](auto& t) { t.trainer->exponential_moving_average(0.75f); },
       own("moving average", "None(beta=0, update_freq=1)",
           "Exponential(beta=0.75, update_freq=1)"),
       true, true},
      {"Kind", [](auto& t) { t.template use<SimpleSGDTrainer>(0.5f); },
       own("kind", kind, "SimpleSGDTrainer()"), true, true},
      {"Beta", [](auto& t) { t.template use<AdamTrainer>(0.5f, 0.75f); },
       own("kind", kind, "AdamTrainer(beta_1=0.75, beta_2=0.999, e..."), true, true},
      {"Epsilon", [](auto& t) { t.template use<AdamTrainer>(0.5f, 0.9f, 0.999f, 1e-7f); },
       "trainer's kind|...\"silon=1e-08)\"|...\"silon=1e-07)\"", true, true},
      {"Collection", [](auto& t) { t.trainer = std::make_unique<AdamTrainer>(t.part, 0.5f); },
       own("collection", "/", "/part/"), true, true},
      {"Moments", [](auto& t) { t.trainer->update({}); },
       "moment mean of /part/table: nothing on rank 0 (thread), and \"digest ", false, true},
      {"Values",
       [](auto& t) {
         t.w.set_value({1, 2});
       },
       "parameter /part/w: \"float {2}, digest ", false, true},
      {"NotUpdated", [](auto& t) { t.w.set_updated(false); }, ", not updated", true, true},
      {"Frozen", [](auto& t) { t.v.get_storage().frozen = true; }, ", frozen", true, true},
      {"Order",
       [](auto& t) {
         const TrainingOptions options = t.options;
         t = Training({}, false, true);
         t.options = options;
       },
       quoted("parameters", "/part/w; /part/v; /part/table", "/part/v; /part/w; /part/table"), true,
       true},
      {"More", [](auto& t) { t.part.add_parameters({3}, ParameterInitConst(1), "more"); },
       "/part/mor", true, true},
  };
}

std::vector<Difference> differences() {
  std::vector<Difference> all = differences_of_options();
  const std::vector<Difference> more = differences_of_trainers();
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

/// "name|then|now" as two places say it; other texts unchanged.
std::string said(const std::string& what, const std::string& before_then,
                 const std::string& before_now, const std::string& end) {
  const std::size_t first = what.find('|'), second = what.rfind('|');
  if (first == std::string::npos) return what;
  return what.substr(0, first) + before_then + what.substr(first + 1, second - first - 1) +
         before_now + what.substr(second + 1) + end;
}
std::string to_ranks(const std::string& what) {
  return said(what, ": ", " on rank 0 (thread), and ", " on rank 1 (thread)");
}

/// The second of two ranks is told to differ.
std::string failure_of(const std::function<void(const Ranks&)>& f) {
  return message_of<UsageError>([&] { run_ranks(2, f); });
}
void expect_in(const std::string& message, const std::string& begin, const std::string& part) {
  EXPECT_EQ(message.find(begin), 0u) << message;
  EXPECT_TRUE(mentions(message, part)) << message << " lacks " << part;
}

class RunDifferences : public ::testing::TestWithParam<Difference> {};
INSTANTIATE_TEST_SUITE_P(All, RunDifferences, ::testing::ValuesIn(differences()),
                         [](const auto& test) { return test.param.name; });

TEST_P(RunDifferences, AreThoseOfTheCheckpoint) {
  const std::filesystem::path folder = settings_folder();
  Training(folder).begin();
  EXPECT_NO_THROW(Training(folder, true).begin());
  if (!GetParam().is_in_checkpoint) return;
  Training other(folder, true);
  GetParam().apply(other);
  expect_in(message_of<UsageError>([&] { other.begin(); }),
            "[TrainingRun] need the same settings to go on from " +
                (folder / "checkpoint.safetensors").string() + ": ",
            said(GetParam().what, " was ", "; got ", ""));
}

TEST_P(RunDifferences, AreNamedWhenRanksBegin) {
  for (const bool is_relaxed : {false, true}) {
    if (is_relaxed && !GetParam().is_of_trainer) continue;
    expect_in(failure_of([&](const Ranks& ranks) {
                Training training(ranks, is_relaxed);
                if (ranks->rank() == 1) GetParam().apply(training);
                training.begin();
              }),
              "[TrainingRun] need the same program, data and options on all ranks; got as ",
              to_ranks(GetParam().what));
  }
}

TEST_P(RunDifferences, AreNamedWhenAServerBegins) {
  if (!GetParam().is_of_trainer) return;
  expect_in(failure_of([&](const Ranks& ranks) {
              Training training;
              if (ranks->rank() == 1) GetParam().apply(training);
              ParameterServer(ranks, *training.trainer, {}, 0, 1);
            }),
            "[ParameterServer] need the same trainer, parameters and arguments on all ranks; got "
            "as ",
            to_ranks(GetParam().what));
}

/// One epoch of six minibatches; `before_update` is called with the number of those before it.
void train_epoch(Training& training, TrainingRun& run,
                 const std::function<void(unsigned)>& before_update) {
  unsigned count = 0;
  Minibatch batch;
  EXPECT_TRUE(run.next_epoch(12));
  while (run.next(batch)) {
    batch.add_losses(run.samples().size(), [&](ComputationGraph& graph, std::size_t i) {
      return dot_product(parameter(graph, training.w) + parameter(graph, training.v),
                         lookup(graph, training.table, run.samples()[i] % 6));
    });
    before_update(count++);
    run.update(batch);
  }
  run.finish_epoch();
}

// At the next update, or in the next epoch if ranks do not wait for each other.
TEST_P(RunDifferences, AreNamedWhileRanksTrain) {
  if (!GetParam().may_come_later) return;
  for (const bool is_relaxed : {false, true}) {
    expect_in(failure_of([&](const Ranks& ranks) {
                Training training(ranks, is_relaxed);
                TrainingRun run(*training.trainer, training.options);
                train_epoch(training, run, [&](unsigned before) {
                  EXPECT_TRUE(is_relaxed || before <= 2);
                  if (is_relaxed || before != 2 || ranks->rank() == 0) return;
                  GetParam().apply(training);
                });
                if (ranks->rank() == 1) GetParam().apply(training);
                run.next_epoch(12);
              }),
              "[TrainingRun] need the same program, data and options on all ranks; got as ",
              to_ranks(GetParam().what));
  }
}

// Where averages stand in for weights there is no state to compare; the other rank must not wait
// for it.
TEST(RankDifferencesTest, AveragesThatStandInForWeightsAreNamed) {
  for (const bool has_server : {false, true}) {
    expect_in(failure_of([&](const Ranks& ranks) {
                Training training(ranks, false);
                training.trainer->exponential_moving_average(0.75f);
                training.trainer->update({});
                if (ranks->rank() == 1) training.trainer->swap_params_to_moving_average();
                if (!has_server) training.begin();
                ParameterServer(ranks, *training.trainer, {}, 0, 1);
              }),
              "[", to_ranks("trainer's weights|\"in their place\"|\"averages in their place\""));
  }
}

// Parameters are compared after 1, 2, 4, ... updates, and at the end of an epoch, whatever their
// averages are.
TEST(RankDifferencesTest, ParametersAreComparedNowAndThen) {
  for (const unsigned changed : {3u, 5u}) {
    for (const bool has_averages : {false, true}) {
      expect_in(failure_of([&](const Ranks& ranks) {
                  Training training(ranks, false);
                  if (has_averages) training.trainer->exponential_moving_average(0.75f, 5);
                  TrainingRun run(*training.trainer, training.options);
                  train_epoch(training, run, [&](unsigned before) {
                    EXPECT_TRUE(changed != 3 || before <= 4);
                    if (before == changed && ranks->rank() == 1) {
                      training.table.initialize(5, {2, 3});
                    }
                  });
                }),
                "[TrainingRun] ", "got as parameter /part/table: \"float {2,6}, a table, digest ");
    }
  }
}

TEST(RankDifferencesTest, SizesOfSamplesAreCompared) {
  expect_in(failure_of([&](const Ranks& ranks) {
              Training training(ranks, false);
              TrainingRun run(*training.trainer, training.options);
              const std::vector<std::uint32_t> sizes = {3, 3, 3, 3 + ranks->rank()};
              Minibatch batch;
              EXPECT_TRUE(run.next_epoch(Minibatches{{0, 1, 2, 3}}, sizes));  // in the same order
              run.next(batch);
            }),
            "[TrainingRun] ", "got minibatches and sizes with the fingerprint ");
}

TEST(AlikeTest, ShowsWhatDiffersInLongTexts) {
  const std::string same(100, 'x');
  const auto message = [&](const std::string& first, const std::string& second) {
    return failure_of([&](const Ranks& ranks) {
      detail::check_alike(*ranks, "need the same", {{"text", ranks->rank() == 0 ? first : second}});
    });
  };
  EXPECT_EQ(message(same + "ab", same + "ac"),
            "need the same on all ranks; got as " +
                to_ranks("text|...\"" + std::string(9, 'x') + "ab\"|...\"" + std::string(9, 'x') +
                         "ac\""));
  // Differences behind the right length, and none.
  expect_in(message(std::string(100, 'a') + "b" + std::string(100, 'c'),
                    std::string(100, 'a') + "d" + std::string(100, 'c')),
            "need", "...\"" + std::string(10, 'a') + "b");
  EXPECT_EQ(message(same, same), "nothing was thrown");
  expect_in(message(same, same + "x"), "need", "got as text");
}

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

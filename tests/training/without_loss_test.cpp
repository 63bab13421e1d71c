// Minibatches in which no sample has a loss: they make no update, and are counted, whatever shares
// or delays the work; and runs that cannot train anything.
#include <mutex>

#include "nn/train.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using Ranks = std::shared_ptr<Communicator>;

/// What a run has come to.
struct Outcome {
  std::vector<float> values;
  std::uint64_t updates = 0, without_loss = 0, skipped = 0;
  double loss = 0;  // the mean of the last epoch
  bool operator==(const Outcome&) const = default;
};

void PrintTo(const Outcome& outcome, std::ostream* out) {
  *out << ::testing::PrintToString(outcome.values) << ", " << outcome.updates << " updates, "
       << outcome.without_loss << " without, " << outcome.skipped << " skipped, loss "
       << outcome.loss;
}

/// A model whose parameters change by moments and decay, too, if there is an update without
/// gradients. The loss of sample i has slope i; multiples of 5 and those from 20 to 29 have none.
struct Model {
  ParameterCollection collection;
  Parameter w = collection.add_parameters({1}, ParameterInitConst(8), "w");
  AdamTrainer trainer{collection, 0.25f};
  TrainingOptions options;

  Model() {
    trainer.weight_decay = 0.125f;
    options.epochs = 2;
    options.report.lines = nullptr;
    options.stopping.watch_interrupts = false;
  }

  static bool has_loss(std::uint32_t sample) {
    return sample % 5 != 0 && (sample < 20 || sample > 29);
  }
  void record(Minibatch& batch, const std::vector<std::uint32_t>& samples) const {
    for (const std::uint32_t sample : samples) {
      ComputationGraph& graph = batch.new_graph();
      if (!has_loss(sample)) continue;
      batch.add_loss(parameter(graph, w) * static_cast<float>(sample));
    }
  }
  Outcome train(const Minibatches& list, const std::function<void(TrainingRun&)>& after = {}) {
    TrainingRun run(trainer, options);
    Minibatch batch;
    while (run.next_epoch(list)) {
      while (run.next(batch)) {
        const auto& samples = run.samples();
        record(batch, samples);
        run.update(batch);
        if (after) after(run);
      }
      run.finish_epoch();
    }
    const TrainingProgress& progress = run.progress();
    const auto loss = run.curve().epochs() > 0
                          ? run.curve().value("train loss", run.curve().epochs())
                          : std::nullopt;
    return {as_vector(w.values()), progress.updates, progress.without_loss, progress.skipped,
            loss.value_or(-1)};
  }
};

// The third and the last minibatch have no loss; in the second, only the last sample has one.
const Minibatches kList = {{1, 2, 3}, {5, 20, 4}, {20, 21, 22}, {7, 8, 10}, {25, 0, 5}};

struct Sharing {
  const char* name;
  unsigned accumulate = 1, shards = 1, ranks = 1;
  bool sum_losses = false, is_relaxed = false;
};

void PrintTo(const Sharing& sharing, std::ostream* out) { *out << sharing.name; }

class WithoutLoss : public ::testing::TestWithParam<Sharing> {
 protected:
  void SetUp() override {
    if (GetParam().is_relaxed && !default_device()->is_cpu()) {
      GTEST_SKIP() << "a server needs parameters on the CPU";
    }
  }

  static void apply(const Ranks& ranks, TrainingOptions& options) {
    const Sharing& sharing = GetParam();
    options.accumulate = sharing.accumulate;
    options.ranks.shards = sharing.shards;
    options.sum_losses = sharing.sum_losses;
    options.ranks.communicator = ranks;
    if (sharing.is_relaxed) options.ranks.relaxation = Relaxation{};
  }
  /// All ranks must agree.
  static Outcome train(const Minibatches& list, const std::string& folder = "", bool resume = false,
                       std::uint64_t stop_after = 0) {
    std::mutex mutex;
    std::vector<Outcome> outcomes;
    run_ranks(GetParam().ranks, [&](const Ranks& ranks) {
      Model model;
      apply(ranks, model.options);
      model.options.files.folder = folder;
      model.options.files.resume = resume;
      std::uint64_t count = 0;
      const Outcome outcome = model.train(list, [&](TrainingRun& run) {
        if (++count == stop_after) run.stop();
      });
      const std::lock_guard lock(mutex);
      outcomes.push_back(outcome);
    });
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome, outcomes.front());
    return outcomes.front();
  }
};

INSTANTIATE_TEST_SUITE_P(
    All, WithoutLoss,
    ::testing::ValuesIn(std::vector<Sharing>{
        {.name = "alone"},
        {.name = "sums", .sum_losses = true},
        {.name = "accumulation", .accumulate = 2},
        {.name = "accumulation_of_sums", .accumulate = 2, .sum_losses = true},
        {.name = "shards", .shards = 3},
        {.name = "two_ranks", .shards = 3, .ranks = 2},
        {.name = "three_ranks", .shards = 3, .ranks = 3},
        {.name = "ranks_that_accumulate", .accumulate = 2, .shards = 3, .ranks = 3},
        {.name = "ranks_with_sums", .shards = 3, .ranks = 2, .sum_losses = true},
        {.name = "relaxed", .is_relaxed = true},
        {.name = "relaxed_sums", .sum_losses = true, .is_relaxed = true},
    }),
    [](const auto& test) { return test.param.name; });

// As if they were not there; accumulated ones count as samples of the mean.
TEST_P(WithoutLoss, MinibatchesMakeNoUpdate) {
  Model expected;
  apply(nullptr, expected.options);
  expected.options.ranks.relaxation = {};
  expected.options.accumulate = 1;
  const bool accumulates = GetParam().accumulate == 2;
  Outcome outcome =
      expected.train(accumulates ? Minibatches{{1, 2, 3, 5, 20, 4}, {20, 21, 22, 7, 8, 10}}
                                 : Minibatches{{1, 2, 3}, {5, 20, 4}, {7, 8, 10}});
  EXPECT_EQ(outcome.updates, accumulates ? 4u : 6u);
  EXPECT_EQ(outcome.without_loss, 0u);
  outcome.without_loss = 4;  // two in each epoch
  const Outcome found = train(kList);
  EXPECT_EQ(found, outcome);
}

TEST_P(WithoutLoss, MinibatchesMayBeTheLastBeforeAStop) {
  const Outcome whole = train(kList);
  for (std::uint64_t stop = 1; stop <= kList.size(); ++stop) {
    SCOPED_TRACE(stop);
    const auto folder = std::filesystem::path(::testing::TempDir()) / "without_loss";
    std::filesystem::remove_all(folder);
    train(kList, folder, false, stop);
    EXPECT_EQ(train(kList, folder, true), whole);
  }
}

// Which rank has which minibatch is a matter of chance.
TEST(RelaxedWithoutLossTest, MinibatchesAreCountedOnce) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "a server needs parameters on the CPU";
  for (const Relaxation relaxation : {Relaxation{}, Relaxation{.backup_ranks = 1}}) {
    run_ranks(3, [&](const Ranks& ranks) {
      Model model;
      model.options.ranks.communicator = ranks;
      model.options.ranks.relaxation = relaxation;
      const Outcome outcome = model.train(kList);
      EXPECT_EQ(outcome.skipped, 0u);
      if (relaxation.backup_ranks == 0) {
        EXPECT_EQ(outcome.updates, 6u);
        EXPECT_EQ(outcome.without_loss, 4u);
      } else {
        EXPECT_LE(outcome.without_loss, 4u);  // some came too late
      }
    });
  }
}

TEST(WithoutLossTest, ALineSaysHowMany) {
  std::ostringstream lines;
  Model model;
  model.options.report.lines = &lines;
  model.train(kList);
  const std::string text = lines.str(), words = ", 2 minibatches without a loss\n";  // per epoch
  EXPECT_TRUE(mentions(text, words));
  EXPECT_NE(text.find(words), text.rfind(words)) << text;
  std::ostringstream others;
  Model other;
  other.options.report.lines = &others;
  other.train({{1, 2}});
  EXPECT_FALSE(mentions(others.str(), "without a loss"));
}

// Also of minibatches that have no samples.
TEST(WithoutLossTest, MinibatchesWithoutSamples) {
  for (const unsigned shards : {1u, 2u}) {
    Model model;
    model.options.ranks.shards = shards;
    const Outcome outcome = model.train({{}, {1}, {}});
    EXPECT_EQ(outcome.updates, 2u);
    EXPECT_EQ(outcome.without_loss, 4u);
  }
}

TEST(WithoutLossTest, AnEpochHasAMinibatch) {
  Model model;
  EXPECT_EQ(message_of<UsageError>([&] { model.train({}); }),
            "[TrainingRun] need a minibatch or more in an epoch; got none");
}

TEST(TrainWithoutLossTest, SomeSamplesNeedNone) {
  for (const unsigned batch_size : {1u, 3u, 4u}) {
    Model model;
    model.options.batch_size = batch_size;
    model.options.epochs = 20;
    const TrainingProgress progress = train(
        model.trainer, 4,
        [&](ComputationGraph& graph, std::size_t i) {
          return i == 0 ? std::vector<Expression>() : std::vector{parameter(graph, model.w)};
        },
        model.options);
    EXPECT_EQ(progress.epochs, 20u);
    // Of minibatches of three, one sample is alone; it is the first of four now and then.
    if (batch_size == 1) {
      EXPECT_EQ(progress.without_loss, 20u);
      EXPECT_EQ(progress.updates, 60u);
    }
    if (batch_size == 3) {
      EXPECT_GT(progress.without_loss, 0u);
      EXPECT_EQ(progress.updates + progress.without_loss, 40u);
    }
    if (batch_size == 4) {
      EXPECT_EQ(progress.without_loss, 0u);
    }
  }
}

TEST(TrainWithoutLossTest, ARunNeedsSamplesAndALoss) {
  Model model;
  const auto train_on = [&](std::size_t samples) {
    train(
        model.trainer, samples,
        [](ComputationGraph&, std::size_t) { return std::vector<Expression>(); }, model.options);
  };
  EXPECT_EQ(message_of<UsageError>([&] { train_on(0); }),
            "[train] need a sample or more; got none");
  EXPECT_EQ(message_of<UsageError>([&] { train_on(7); }),
            "[train] need a sample with a loss or more; got none in 2 epochs of 7 samples: return "
            "the losses of a sample");
  EXPECT_EQ(as_scalar(model.w.values()), 8.0f);
}

}  // namespace
}  // namespace dynet_like::nn

// Ranks with other trainers, parameters or sizes of samples than rank 0: what differs is named,
// when a run begins or while it trains, whether ranks wait for each other or not.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/distributed/alike.h"
#include "dynet_like/distributed/parameter_server.h"
#include "dynet_like/dynet_like.h"
#include "nn/train.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

using Ranks = std::shared_ptr<Communicator>;

/// A model with a table, and its trainer.
struct Training {
  ParameterCollection model;
  Parameter w = model.add_parameters({2}, ParameterInitConst(1), "w");
  LookupParameter table = model.add_lookup_parameters(6, {2}, ParameterInitConst(1), "table");
  std::unique_ptr<Trainer> trainer = std::make_unique<AdamTrainer>(model, 0.5f);

  template <class TrainerType, class... Arguments>
  void use(Arguments... arguments) {
    trainer = std::make_unique<TrainerType>(model, arguments...);
  }
};

struct Difference {
  const char* name;
  std::function<void(Training&)> apply;
  std::string what;  // in the message: what differs, and both values
};

std::string both(const std::string& what, const std::string& of_rank_0,
                 const std::string& of_rank_1) {
  return "got as " + what + ": " + of_rank_0 + " on rank 0 (thread), and " + of_rank_1 +
         " on rank 1 (thread)";
}

/// What may also be changed while a run trains.
std::vector<Difference> settings() {
  return {
      {"Rate", [](Training& training) { training.trainer->learning_rate = 0.25f; },
       both("trainer's learning rate", "\"0.5\"", "\"0.25\"")},
      {"Clipping", [](Training& training) { training.trainer->enable_clipping(3); },
       both("trainer's clipping threshold", "\"0\"", "\"3\"")},
      {"Decay", [](Training& training) { training.trainer->weight_decay = 0.25f; },
       both("trainer's weight decay", "\"0\"", "\"0.25\"")},
      {"Rows", [](Training& training) { training.trainer->sparse_updates = SparseUpdates::exact; },
       both("trainer's sparse updates", "\"lazy\"", "\"exact\"")},
      {"RateOfAGroup",
       [](Training& training) { training.trainer->set_groups({{.pattern = "/w", .rate = 0.5f}}); },
       "got as trainer's kind: "},
      {"DecayOfAGroup",
       [](Training& training) {
         training.trainer->set_groups({{.pattern = "/w", .weight_decay = 0.5f}});
       },
       "got as trainer's kind: "},
      {"FrozenGroup",
       [](Training& training) {
         training.trainer->set_groups({{.pattern = "/w", .frozen = true}});
       },
       "with groups \"/w\": frozen"},
      {"Cycle", [](Training& training) { training.trainer->follow({}); },
       "got as trainer's kind: "},
  };
}

std::vector<Difference> differences() {
  std::vector<Difference> all = settings();
  const std::vector<Difference> others = {
      {"Kind", [](Training& training) { training.use<AmsgradTrainer>(0.5f); },
       "got as trainer's kind: "},
      {"Beta", [](Training& training) { training.use<AdamTrainer>(0.5f, 0.75f); },
       both("trainer's kind", "\"AdamTrainer(beta_1=0.9, beta_2=0.999, ep...\"",
            "\"AdamTrainer(beta_1=0.75, beta_2=0.999, e...\"")},
      {"Epsilon", [](Training& training) { training.use<AdamTrainer>(0.5f, 0.9f, 0.999f, 1e-7f); },
       both("trainer's kind", "...\"silon=1e-08)\"", "...\"silon=1e-07)\"")},
      {"Average", [](Training& training) { training.trainer->exponential_moving_average(0.75f); },
       both("trainer's moving average", "\"None(beta=0, update_freq=1)\"",
            "\"Exponential(beta=0.75, update_freq=1)\"")},
      {"Moments", [](Training& training) { training.trainer->update({}); },
       "got as moment mean of /table: nothing on rank 0 (thread), and \"digest "},
      {"Values",
       [](Training& training) {
         training.w.set_value({1, 2});
       },
       "got as parameter /w: \"float {2}, digest "},
      {"NotUpdated", [](Training& training) { training.w.set_updated(false); }, ", not updated"},
      {"Frozen", [](Training& training) { training.w.get_storage().frozen = true; }, ", frozen"},
      {"Shape",
       [](Training& training) {
         training.model.add_parameters({3}, ParameterInitConst(1), "more");
       },
       "/more"},
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

TrainingOptions options_for(const Ranks& ranks, bool is_relaxed) {
  TrainingOptions options;
  options.epochs = 3;
  options.batch_size = 2;
  options.shards = is_relaxed ? 1 : 2;
  options.ranks = ranks;
  options.lines = nullptr;
  options.watch_interrupts = false;
  if (is_relaxed) options.relaxation = Relaxation{};
  return options;
}

/// One epoch of six minibatches; `before_update` is called with the number of those before it.
void train_epoch(Training& training, TrainingRun& run,
                 const std::function<void(unsigned)>& before_update = {}) {
  unsigned count = 0;
  Minibatch batch;
  for (const auto& samples : run.minibatches(batch, 12)) {
    batch.add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
      return dot_product(parameter(graph, training.w),
                         lookup(graph, training.table, samples[i] % 6));
    });
    if (before_update) before_update(count++);
    run.update(batch);
  }
  run.finish_epoch();
}

std::string failure_of(const std::function<void(const Ranks&)>& f, unsigned ranks = 2) {
  return message_of<UsageError>([&] { run_ranks(ranks, f); });
}

class RankDifferencesTest : public testing::TestWithParam<Difference> {};
INSTANTIATE_TEST_SUITE_P(All, RankDifferencesTest, testing::ValuesIn(differences()),
                         [](const auto& test) { return test.param.name; });

TEST_P(RankDifferencesTest, AreNamedWhenARunBegins) {
  for (const bool is_relaxed : {false, true}) {
    const std::string message = failure_of([&](const Ranks& ranks) {
      Training training;
      if (ranks->rank() == 1) GetParam().apply(training);
      TrainingRun(training.model, *training.trainer, options_for(ranks, is_relaxed));
    });
    EXPECT_EQ(message.find("[TrainingRun] need the same program, data and options on all ranks; "),
              0u)
        << message;
    EXPECT_NE(message.find(GetParam().what), std::string::npos) << message;
  }
}

TEST_P(RankDifferencesTest, AreNamedWhenAServerBegins) {
  const std::string message = failure_of([&](const Ranks& ranks) {
    Training training;
    if (ranks->rank() == 1) GetParam().apply(training);
    ParameterServer(ranks, *training.trainer, {}, 0, 1);
  });
  EXPECT_EQ(message.find("[ParameterServer] need the same trainer, parameters and arguments on all "
                         "ranks; "),
            0u)
      << message;
  EXPECT_NE(message.find(GetParam().what), std::string::npos) << message;
}

// Where averages stand in for weights there is no state to compare; the other rank must not wait
// for it.
TEST(RankAveragesTest, ThatStandInForWeightsAreNamed) {
  const std::vector<std::function<void(const Ranks&, Training&)>> beginnings = {
      [](const Ranks& ranks, Training& training) {
        ParameterServer(ranks, *training.trainer, {}, 0, 1);
      },
      [](const Ranks& ranks, Training& training) {
        TrainingRun(training.model, *training.trainer, options_for(ranks, false));
      }};
  for (const auto& begin : beginnings) {
    const std::string message = failure_of([&](const Ranks& ranks) {
      Training training;
      training.trainer->exponential_moving_average(0.75f);
      training.trainer->update({});
      if (ranks->rank() == 1) training.trainer->swap_params_to_moving_average();
      begin(ranks, training);
    });
    EXPECT_NE(message.find(
                  both("trainer's weights", "\"in their place\"", "\"averages in their place\"")),
              std::string::npos)
        << message;
  }
}

class RankSettingsTest : public testing::TestWithParam<Difference> {};
INSTANTIATE_TEST_SUITE_P(All, RankSettingsTest, testing::ValuesIn(settings()),
                         [](const auto& test) { return test.param.name; });

// At the next update, or in the next epoch if ranks do not wait for each other.
TEST_P(RankSettingsTest, AreComparedWhileTheyTrain) {
  for (const bool is_relaxed : {false, true}) {
    const std::string message = failure_of([&](const Ranks& ranks) {
      Training training;
      TrainingRun run(training.model, *training.trainer, options_for(ranks, is_relaxed));
      EXPECT_TRUE(run.next_epoch());
      train_epoch(training, run, [&](unsigned before) {
        EXPECT_TRUE(is_relaxed || before <= 2);
        if (!is_relaxed && before == 2 && ranks->rank() == 1) GetParam().apply(training);
      });
      if (ranks->rank() == 1) GetParam().apply(training);
      run.next_epoch();
    });
    EXPECT_NE(message.find(GetParam().what), std::string::npos) << message;
  }
}

// Five updates, of which the third is of other values: they are compared after the fourth at the
// latest.
TEST(RankParametersTest, AreComparedNowAndThen) {
  const std::string message = failure_of([&](const Ranks& ranks) {
    Training training;
    TrainingRun run(training.model, *training.trainer, options_for(ranks, false));
    EXPECT_TRUE(run.next_epoch());
    train_epoch(training, run, [&](unsigned before) {
      EXPECT_LE(before, 4u);
      if (before == 3 && ranks->rank() == 1) training.table.initialize(5, {2, 3});
    });
  });
  EXPECT_NE(message.find("got as parameter /table: \"float {2,6}, a table, digest "),
            std::string::npos)
      << message;
}

TEST(RankParametersTest, AreComparedAtTheEndOfAnEpoch) {
  const std::string message = failure_of([&](const Ranks& ranks) {
    Training training;
    TrainingRun run(training.model, *training.trainer, options_for(ranks, false));
    EXPECT_TRUE(run.next_epoch());
    train_epoch(training, run, [&](unsigned before) {
      if (before == 5 && ranks->rank() == 1) training.table.initialize(5, {2, 3});
    });
  });
  EXPECT_NE(message.find("got as parameter /table: "), std::string::npos) << message;
}

// After the fifth update averages are taken, of parameters that are still the same.
TEST(RankParametersTest, AreComparedAtTheEndOfAnEpochWhateverTheirAverages) {
  const std::string message = failure_of([&](const Ranks& ranks) {
    Training training;
    training.trainer->exponential_moving_average(0.75f, 5);
    TrainingRun run(training.model, *training.trainer, options_for(ranks, false));
    EXPECT_TRUE(run.next_epoch());
    train_epoch(training, run, [&](unsigned before) {
      if (before == 5 && ranks->rank() == 1) training.table.initialize(5, {2, 3});
    });
  });
  EXPECT_NE(message.find("got as parameter /table: "), std::string::npos) << message;
}

TEST(RankDataTest, SizesOfSamplesAreCompared) {
  const std::string message = failure_of([&](const Ranks& ranks) {
    Training training;
    TrainingRun run(training.model, *training.trainer, options_for(ranks, false));
    EXPECT_TRUE(run.next_epoch());
    const std::vector<std::uint32_t> sizes = {3, 3, 3, 3 + ranks->rank()};
    Minibatch batch;
    // Their order is the same.
    for ([[maybe_unused]] const auto& samples :
         run.minibatches(batch, Minibatches{{0, 1, 2, 3}}, sizes)) {
    }
  });
  EXPECT_NE(message.find("got minibatches and sizes with the fingerprint "), std::string::npos)
      << message;
}

// Gradients and norms are added in the order of the parameters.
TEST(AlikeTest, ParametersHaveOneOrder) {
  const std::string message = failure_of([](const Ranks& ranks) {
    ParameterCollection model;
    for (const bool first : {true, false}) {
      const char* const name = first == (ranks->rank() == 0) ? "a" : "b";
      model.add_parameters({1}, ParameterInitConst(1), name);
    }
    AdamTrainer trainer(model);
    ParameterServer(ranks, trainer, {}, 0, 1);
  });
  EXPECT_NE(message.find(both("parameters", "\"/a; /b\"", "\"/b; /a\"")), std::string::npos)
      << message;
}

TEST(AlikeTest, ShowsWhatDiffersInLongTexts) {
  const std::string same(100, 'x');
  const auto message = [&](const std::string& first, const std::string& second) {
    return failure_of([&](const Ranks& ranks) {
      detail::check_alike(*ranks, "need the same", {{"text", ranks->rank() == 0 ? first : second}});
    });
  };
  EXPECT_EQ(message(same + "ab", same + "ac"),
            "need the same on all ranks; " + both("text", "...\"" + std::string(9, 'x') + "ab\"",
                                                  "...\"" + std::string(9, 'x') + "ac\""));
  // Differences behind the right length, and none.
  EXPECT_NE(message(std::string(100, 'a') + "b" + std::string(100, 'c'),
                    std::string(100, 'a') + "d" + std::string(100, 'c'))
                .find("...\"" + std::string(10, 'a') + "b"),
            std::string::npos);
  EXPECT_EQ(message(same, same), "nothing was thrown");
  EXPECT_NE(message(same, same + "x").find("got as text"), std::string::npos);
}

}  // namespace
}  // namespace dynet_like::nn

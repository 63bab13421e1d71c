// Training runs of several ranks: the bits of one, whatever they are told to do, also where they
// stop and go on with another number of ranks.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <mutex>
#include <regex>
#include <sstream>

#include "dynet_like/core/errors.h"
#include "tests/distributed/program.h"
#include "tests/distributed/ranks_of_threads.h"
#include "tests/distributed/settings.h"
#include "tests/support/message_of.h"
#include "tests/support/timeline_events.h"

namespace dynet_like::nn {
namespace {

using namespace ranks_program;
using Ranks = std::shared_ptr<Communicator>;

std::string new_folder(const std::string& name) {
  const auto folder = std::filesystem::path(testing::TempDir()) / ("ranks_" + name);
  std::filesystem::remove_all(folder);
  return folder;
}

/// What a run has come to.
struct Outcome {
  std::vector<float> values, losses;
  std::string curve;
  std::uint64_t updates = 0;
  bool interrupted = false;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const Program& program) {
  return {program.values(), program.losses, program.run->curve().to_csv(),
          program.run->progress().updates, program.run->interrupted()};
}

class RanksTest : public testing::TestWithParam<Setting> {
 protected:
  struct How {
    unsigned ranks = 1, threads = 1;
    std::string folder = {};
    bool resume = false;
    std::uint64_t stop_after = 0;  // updates
    unsigned who_stops = 0;
  };
  /// All ranks must agree.
  static Outcome run(const How& how) {
    std::mutex mutex;
    std::vector<Outcome> outcomes;
    run_ranks(how.ranks, [&](const Ranks& ranks) {
      Program program(GetParam(), ranks, how.folder, how.resume, how.threads);
      if (how.stop_after > 0) {
        program.after_update = [&](TrainingRun& run, std::uint64_t updates) {
          if (updates >= how.stop_after && ranks->rank() == how.who_stops) run.stop();
        };
      }
      program.train();
      const std::lock_guard lock(mutex);
      outcomes.push_back(outcome_of(program));
    });
    for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome == outcomes.front());
    return outcomes.front();
  }
};

INSTANTIATE_TEST_SUITE_P(All, RanksTest, testing::ValuesIn(settings()),
                         [](const auto& test) { return test.param.name; });

TEST_P(RanksTest, TrainWithTheSameBitsWhateverTheirNumber) {
  const Outcome one = run({});
  EXPECT_GE(one.updates, 3u);
  for (const float value : one.values) EXPECT_TRUE(std::isfinite(value));
  EXPECT_TRUE(run({.threads = 3}) == one);
  for (const unsigned ranks : {2u, 3u, 4u, 5u}) {
    EXPECT_TRUE(run({.ranks = ranks}) == one) << ranks << " ranks";
  }
  EXPECT_TRUE(run({.ranks = 2, .threads = 2, .folder = new_folder("files")}) == one);
}

// One rank, whichever, is asked to stop, all do, and another number of them goes on.
TEST_P(RanksTest, StopTogetherAndGoOnWithAnotherNumber) {
  const Outcome whole = run({});
  for (const auto& [stop, who] :
       std::vector<std::pair<std::uint64_t, unsigned>>{{1, 2}, {2, 0}, {6, 1}}) {
    if (stop >= whole.updates) continue;
    SCOPED_TRACE(stop);
    const std::string folder = new_folder("parts");
    const Outcome first = run({.ranks = 3, .folder = folder, .stop_after = stop, .who_stops = who});
    EXPECT_TRUE(first.interrupted);
    EXPECT_LT(first.updates, whole.updates);
    const Outcome second = run({.ranks = 2, .folder = folder, .resume = true});
    EXPECT_FALSE(second.interrupted);
    EXPECT_EQ(second.values, whole.values);
    EXPECT_EQ(second.curve, whole.curve);
    EXPECT_EQ(second.updates, whole.updates);
  }
}

// Within a shard, repeated vertices run once.
TEST(SharingRanksTest, TrainWithTheSameBitsWhateverTheirNumber) {
  const auto train_with = [](unsigned ranks, unsigned threads) {
    std::vector<std::vector<unsigned>> sentences(30);
    Random random(5);
    for (auto& sentence : sentences) {
      sentence.resize(1 + random.below(5));
      for (unsigned& word : sentence) word = random.below(3);
    }
    std::vector<std::vector<float>> values(ranks);
    run_ranks(ranks, [&](const Ranks& communicator) {
      ParameterCollection model(1);
      const Embedding words(model, 3, 6);
      const LSTM lstm(model, 6, 8);
      AdamTrainer trainer(model);
      TrainingOptions options;
      options.epochs = 2;
      options.batch_size = 16;
      options.lines = nullptr;
      options.progress_bar = options.watch_interrupts = false;
      options.ranks = communicator;
      options.shards = 4;
      options.graph = {.threads = threads, .share_repeated = true};
      const auto loss_of = [&](ComputationGraph& graph, const std::vector<unsigned>& sentence) {
        return squared_norm(lstm(words.columns(graph, sentence)).all().h);
      };
      train(model, trainer, sentences, loss_of, options);
      std::vector<float>& mine = values[communicator->rank()];
      for (const auto& storage : model.storages()) {
        const std::vector<float> some = as_vector(storage->tensor());
        mine.insert(mine.end(), some.begin(), some.end());
      }
    });
    EXPECT_EQ(values, std::vector(ranks, values.front()));
    return values.front();
  };
  const std::vector<float> one = train_with(1, 1);
  EXPECT_EQ(train_with(1, 3), one);
  EXPECT_EQ(train_with(2, 1), one);
  EXPECT_EQ(train_with(3, 2), one);
}

// Of the time of an epoch's minibatches: where it went.
TEST(RankTimesTest, AreOnATimeline) {
  const auto events_of = [](const Ranks& ranks) {
    Timeline timeline;
    const Setting timed = {"timed",
                           [&](TrainingOptions& options) { options.timeline = &timeline; }};
    Program(timed, ranks, "").train();
    const TimelineEvents events(timeline.json());
    events.expect_nested();
    return std::pair(events.named("ranks").size(), events.named("update").size());
  };
  EXPECT_EQ(events_of(single_process()).first, 0u);
  run_ranks(2, [&](const Ranks& ranks) {
    const auto [waits, updates] = events_of(ranks);
    EXPECT_GT(updates, 0u);
    EXPECT_GE(waits, 3 * updates);  // for gradients, losses and sums
  });
}

TEST(RankTimesTest, AreInTheLineOfAnEpoch) {
  std::ostringstream lines, nothing;
  run_ranks(2, [&](const Ranks& ranks) {
    const Setting printing = {"printing", [&](TrainingOptions& options) {
                                options.lines = ranks->rank() == 0 ? &lines : &nothing;
                                options.epochs = 1;
                              }};
    Program(printing, ranks, "").train();
  });
  EXPECT_EQ(nothing.str(), "");
  std::smatch shares;
  const std::string text = lines.str();
  ASSERT_TRUE(std::regex_search(
      text, shares,
      std::regex("communication ([0-9.]+) %, waiting ([0-9.]+) %, imbalance ([0-9.]+) %")))
      << text;
  double all = 0;
  for (const std::size_t i : {1, 2, 3}) all += std::stod(shares[i].str());
  EXPECT_GT(all, 0);
  EXPECT_LE(std::stod(shares[1].str()) + std::stod(shares[2].str()), 101) << text;
  std::ostringstream alone;
  const Setting printing = {"printing", [&](TrainingOptions& options) { options.lines = &alone; }};
  Program(printing, single_process(), "").train();
  EXPECT_EQ(alone.str().find("communication"), std::string::npos);
}

class RankFaultsTest : public testing::Test {
 protected:
  static std::string failure_of(unsigned ranks, const std::function<void(Ranks)>& f) {
    return message_of<std::exception>([&] { run_ranks(ranks, f); });
  }
};

// One that is gone takes no more than what came after the last update.
TEST_F(RankFaultsTest, LeaveACheckpointThatFewerGoOnFrom) {
  const std::string folder = new_folder("lost");
  Program whole({"plain"}, single_process(), "");
  whole.train();
  const std::string message = failure_of(3, [&](const Ranks& ranks) {
    Program program({"plain"}, ranks, folder);
    program.after_update = [&](TrainingRun&, std::uint64_t updates) {
      if (updates == 6 && ranks->rank() == 2) throw std::runtime_error("no more power");
    };
    program.train();
  });
  EXPECT_EQ(message,
            "[Communicator] need all ranks; got none of rank 2 (thread): no more power; the "
            "last update is saved in " +
                folder + "/checkpoint.safetensors: go on from there, with fewer ranks if need be");
  run_ranks(2, [&](const Ranks& ranks) {
    Program rest({"plain"}, ranks, folder, true);
    EXPECT_EQ(rest.run->progress().updates, 6u);
    rest.train();
    EXPECT_EQ(rest.values(), whole.values());
  });
}

TEST_F(RankFaultsTest, NameWhatDiffers) {
  const Setting other = {"other",
                         [](TrainingOptions& options) { options.settings["hidden"] = "9"; }};
  EXPECT_EQ(failure_of(2,
                       [&](const Ranks& ranks) {
                         Program(ranks->rank() == 1 ? other : Setting{"plain"}, ranks, "");
                       }),
            "[TrainingRun] need the same program, data and options on all ranks; got as hidden: "
            "nothing on rank 0 (thread), and \"9\" on rank 1 (thread)");
  EXPECT_NE(failure_of(2,
                       [&](const Ranks& ranks) {
                         ParameterCollection model(1 + ranks->rank());
                         Linear layer(model, 2, 2);
                         SimpleSGDTrainer trainer(model);
                         TrainingRun(model, trainer, {.shards = 2, .ranks = ranks});
                       })
                .find("got as parameter /linear/W: "),
            std::string::npos);
  EXPECT_EQ(
      failure_of(3,
                 [&](const Ranks& ranks) {
                   ParameterCollection model;
                   Linear layer(model, 2, 2);
                   SimpleSGDTrainer trainer(model);
                   TrainingRun(model, trainer, {.shards = 2, .ranks = ranks});
                 }),
      "[TrainingRun] need a shard for each rank (a run that has begun with fewer goes on with "
      "fewer ranks); got 2 for 3 ranks");
}

TEST_F(RankFaultsTest, RefuseWhatDependsOnTheRank) {
  const auto program_of = [](const Ranks& ranks) {
    auto program = std::make_unique<Program>(Setting{"plain"}, ranks, "");
    EXPECT_TRUE(program->run->next_epoch());
    return program;
  };
  EXPECT_NE(failure_of(2,
                       [&](const Ranks& ranks) {
                         const auto program = program_of(ranks);
                         for (const auto& samples :
                              program->run->minibatches(*program->batch, kSamples)) {
                           program->batch->add_losses(samples.size(), [&](auto& graph, auto i) {
                             return program->loss(graph, samples[i]);
                           });
                           for (unsigned i = 0; i <= ranks->rank(); ++i)
                             program->run->random().below(3);
                           program->run->update(*program->batch);
                         }
                       })
                .find("got a position of random()"),
            std::string::npos);
  EXPECT_EQ(
      failure_of(
          2,
          [&](const Ranks& ranks) {
            const auto program = program_of(ranks);
            for (const auto& samples : program->run->minibatches(*program->batch, kSamples)) {
              program->batch->add_loss(program->loss(program->batch->new_graph(), samples[0]));
              program->run->update(*program->batch);
            }
          }),
      "[TrainingRun] need a graph for each sample that the loop is given, in this order, to sum "
      "their gradients by shards; got 1 for 8");
  EXPECT_NE(
      failure_of(
          2,
          [&](const Ranks& ranks) {
            const auto program = program_of(ranks);
            static_cast<void>(
                program->run->minibatches(*program->batch, kSamples + ranks->rank()).begin() ==
                std::default_sentinel);
            program->run->update(*program->batch, 0);
          })
          .find("with the fingerprint"),
      std::string::npos);
  EXPECT_NE(failure_of(2,
                       [&](const Ranks& ranks) {
                         const auto program = program_of(ranks);
                         unsigned passed = 0;
                         for (const auto& samples :
                              program->run->minibatches(*program->batch, kSamples)) {
                           if (ranks->rank() == 1 && passed++ == 1) continue;
                           program->batch->clear();
                           program->batch->add_losses(samples.size(), [&](auto& graph, auto i) {
                             return program->loss(graph, samples[i]);
                           });
                           program->run->update(*program->batch);
                         }
                       })
                .find("what ranks do must not depend on the rank"),
            std::string::npos);
  EXPECT_NE(failure_of(2,
                       [&](const Ranks& ranks) {
                         const auto program = program_of(ranks);
                         for ([[maybe_unused]] const auto& samples :
                              program->run->minibatches(*program->batch, 2)) {
                         }
                         program->run->finish_epoch(static_cast<double>(ranks->rank()));
                       })
                .find("need the same dev score on all ranks; got 0 on rank 0 and 1 on rank 1"),
            std::string::npos);
  Program alone({"plain"}, single_process(), "");
  EXPECT_TRUE(alone.run->next_epoch());
  for ([[maybe_unused]] const auto& samples : alone.run->minibatches(*alone.batch, kSamples)) {
    EXPECT_EQ(
        message_of<UsageError>([&] { alone.run->update(Gradients(), 0, 0); }),
        "[TrainingRun] need update(minibatch) where ranks or shards train together; got gradients "
        "for 1 rank and 8 shards");
  }
}

// What a rank throws, the others throw too, and all can go on: nobody has updated anything.
TEST_F(RankFaultsTest, ThrowTogether) {
  Program whole({"plain"}, single_process(), "");
  whole.train();
  run_ranks(2, [&](const Ranks& ranks) {
    Program program({"plain"}, ranks, "");
    EXPECT_TRUE(program.run->next_epoch());
    const auto train = [&] {
      for (const auto& samples : program.run->minibatches(*program.batch, Program::sizes())) {
        program.batch->add_losses(
            samples.size(), [&](auto& graph, auto i) { return program.loss(graph, samples[i]); });
        const bool is_bad = ranks->rank() == 1;
        if (is_bad) {
          program.run->random().below(3);  // what it draws is forgotten, too
          program.batch->add_loss(
              input(program.batch->graph(0), std::numeric_limits<float>::infinity()));
        }
        program.run->update(*program.batch);
      }
    };
    if (ranks->rank() == 1) {
      EXPECT_THROW(train(), NumericError);
    } else {
      const std::string message = message_of<RankError>(train);
      EXPECT_EQ(
          message.rfind("[TrainingRun] need all ranks; rank 1 (thread) has failed: [Minibatch] "
                        "need a finite loss; got inf in sample 0",
                        0),
          0u)
          << message;
    }
    program.train();
    EXPECT_EQ(program.values(), whole.values());
  });
}

TEST_F(RankFaultsTest, SkipTheSameUpdates) {
  const auto train = [](const Ranks& ranks) {
    const Setting skip = {"skip",
                          [](TrainingOptions& options) { options.not_finite = NotFinite::skip; }};
    Program program(skip, ranks, "");
    const std::vector<std::uint32_t> sizes = Program::sizes();
    while (program.run->next_epoch()) {
      for (const auto& samples : program.run->minibatches(*program.batch, sizes)) {
        program.batch->add_losses(samples.size(), [&](auto& graph, auto i) {
          const Expression loss = program.loss(graph, samples[i]);
          return samples[i] == 7 ? loss * std::numeric_limits<float>::infinity() : loss;
        });
        program.run->update(*program.batch);
      }
      program.run->finish_epoch();
    }
    EXPECT_EQ(program.run->progress().skipped, 3u);
    return program.values();
  };
  const std::vector<float> one = train(single_process());
  run_ranks(3, [&](const Ranks& ranks) { EXPECT_EQ(train(ranks), one); });
}

}  // namespace
}  // namespace dynet_like::nn

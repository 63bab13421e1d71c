// Training runs have the same bits however they come to their end, whatever they are told to do:
// stopped, killed or failing anywhere, with any number of threads and ranks, and by a server.
#include <mutex>

#include "tests/support/precompiled.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

struct Stopped {};

struct How {
  unsigned ranks = 1, threads = 1;
  std::string folder = {};
  bool resume = false;
  int stop_at = -1;  ///< after the update of this minibatch, by a rank
  unsigned who_stops = 0;
};

class SameBits : public ::testing::TestWithParam<Setting> {
 protected:
  static Program alone(const std::string& folder = "", bool resume = false) {
    return Program(GetParam(), folder, resume);
  }

  /// With shards. All ranks must agree.
  static Outcome run(const How& how) {
    std::mutex mutex;
    std::vector<Outcome> outcomes;
    std::vector<std::vector<float>> losses;
    run_ranks(how.ranks, [&](const Ranks& ranks) {
      Program program(GetParam(), how.folder, how.resume, ranks, how.threads);
      program.train({}, [&](TrainingRun& run, int minibatch) {
        if (minibatch == how.stop_at && ranks->rank() == how.who_stops) run.stop();
      });
      EXPECT_EQ(program.run->interrupted(), how.stop_at >= 0);
      const std::lock_guard lock(mutex);
      outcomes.push_back(program.outcome());
      losses.push_back(program.losses);
    });
    for (const Outcome& outcome : outcomes) EXPECT_TRUE(outcome == outcomes.front());
    for (const auto& of_rank : losses) EXPECT_EQ(of_rank, losses.front());
    return outcomes.front();
  }
};

INSTANTIATE_TEST_SUITE_P(All, SameBits, ::testing::ValuesIn(settings()),
                         [](const auto& test) { return test.param.name; });

TEST_P(SameBits, StoppedAnywhereItGoesOn) {
  Program whole = alone(new_folder("whole"));
  whole.train();
  EXPECT_FALSE(whole.run->interrupted());
  EXPECT_GE(whole.run->progress().updates, 6u);
  for (const int stop : {0, 5, 6, 16}) {  // the first, within an update, the last, and later
    SCOPED_TRACE(stop);
    const std::string folder = new_folder("parts");
    {
      Program first = alone(folder);
      first.train([&](TrainingRun& run, int minibatch) {
        if (minibatch == stop) run.stop();
      });
      EXPECT_TRUE(first.run->interrupted());
      EXPECT_FALSE(first.run->next_epoch(kSamples));
    }
    Program second = alone(folder, true);
    second.train();
    EXPECT_FALSE(second.run->interrupted());
    EXPECT_TRUE(second.outcome() == whole.outcome());
  }
}

// As if it were killed: what was saved last is all that there is.
TEST_P(SameBits, KilledAnywhereItGoesOnFromTheLastEpoch) {
  Program whole = alone(new_folder("whole"));
  whole.train();
  const std::string folder = new_folder("parts");
  EXPECT_THROW(alone(folder).train({},
                                   [](TrainingRun&, int minibatch) {
                                     if (minibatch == 9) throw Stopped();
                                   }),
               Stopped);
  Program second = alone(folder, true);
  EXPECT_EQ(second.run->progress().epochs, 1u);
  second.train();
  EXPECT_TRUE(second.outcome() == whole.outcome());
}

TEST_P(SameBits, WhatFailsGoesOnInTheSameProcess) {
  Program whole = alone();
  whole.train();
  for (const bool after : {false, true}) {
    Program other = alone();
    int failures = 0, calls = 0;
    const auto fail = [&](TrainingRun&, int) {
      if (++calls % 4 == 0) throw Stopped();
    };
    for (bool done = false; !done && failures < 100;) {
      try {
        after ? other.train({}, fail) : other.train(fail);
        done = true;
      } catch (const Stopped&) {
        ++failures;
      }
    }
    EXPECT_GT(failures, 3);
    EXPECT_TRUE(other.outcome() == whole.outcome());
  }
}

TEST_P(SameBits, OnAnyNumberOfThreadsAndRanks) {
  const Outcome one = run({});
  EXPECT_GE(one.updates, 6u);
  for (const float value : one.values) EXPECT_TRUE(std::isfinite(value));
  EXPECT_TRUE(run({.threads = 3}) == one);
  for (const unsigned ranks : {2u, 3u, 4u, 5u}) {
    EXPECT_TRUE(run({.ranks = ranks}) == one) << ranks << " ranks";
  }
  EXPECT_TRUE(run({.ranks = 2, .threads = 2, .folder = new_folder("files")}) == one);
}

// One rank, whichever, is asked to stop, all do, and another number of them goes on.
TEST_P(SameBits, RanksStopTogetherAndOthersGoOn) {
  const Outcome whole = run({});
  for (const auto& [stop, who] : std::vector<std::pair<int, unsigned>>{{0, 2}, {1, 0}, {8, 1}}) {
    SCOPED_TRACE(stop);
    const std::string folder = new_folder("parts");
    const Outcome first = run({.ranks = 3, .folder = folder, .stop_at = stop, .who_stops = who});
    EXPECT_LT(first.updates, whole.updates);
    EXPECT_TRUE(run({.ranks = 2, .folder = folder, .resume = true}) == whole);
  }
}

// A server's copies of parameters and trainer are as good as the originals.
TEST_P(SameBits, OneRankWithAServer) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "a server needs parameters on the CPU";
  const auto train = [](const std::optional<Relaxation>& relaxation) {
    Setting setting = GetParam().with([&](TrainingOptions& options) {
      options.ranks.shards = options.accumulate = 1;
      options.ranks.relaxation = relaxation;
    });
    const auto own = setting.trainer;
    setting.trainer = [own](Trainer& trainer) {  // what a server needs
      own(trainer);
      trainer.sparse_updates = SparseUpdates::lazy;
      trainer.weight_decay = 0;
    };
    Program program(setting, "", false, single_process());
    program.train();
    EXPECT_EQ(program.trainer.updates(), program.run->progress().updates);
    return program.outcome();
  };
  EXPECT_TRUE(train(Relaxation{}) == train({}));
}

}  // namespace
}  // namespace dynet_like::nn

// Training runs that are stopped, killed or fail anywhere, and go on with the same bits, whatever
// they were told to do.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

std::vector<Setting> settings() {
  return {
      {"plain"},
      {"accumulation", [](TrainingOptions& options) { options.accumulate = 3; }},
      {"sums", [](TrainingOptions& options) { options.sum_losses = true; }},
      {"cosine",
       [](TrainingOptions& options) {
         options.schedule = WarmUp{5, CosineRate{0.05f, 16, 0.001f}};
       }},
      {"linear",
       [](TrainingOptions& options) {
         options.schedule = WarmUp{5, LinearRate{0.05f, 16, 0.001f}};
       }},
      {"inverse_square_root",
       [](TrainingOptions& options) {
         options.schedule = InverseSquareRootRate{0.05f, 6};
       }},
      {"exponential_by_epoch",
       [](TrainingOptions& options) {
         options.schedule = ExponentialRate{.start = 0.05f, .factor = 0.5f};
         options.schedule_by_epoch = true;
       }},
      {"cyclical",
       [](TrainingOptions& options) {
         options.schedule = CyclicalRate{0.01f, 0.1f, 3};
       }},
      {"plateau",
       [](TrainingOptions& options) {
         options.plateau = Plateau{};
         options.better = Better::smaller;  // of a score that grows: no epoch is better
       }},
      {"patience",
       [](TrainingOptions& options) {
         options.epochs = 9;
         options.patience = 2;
         options.better = Better::smaller;
       }},
      {"averages", [](TrainingOptions&) {},
       [](Trainer& trainer) { trainer.exponential_moving_average(0.8f); }},
      {"groups_and_exact_rows", [](TrainingOptions&) {},
       [](Trainer& trainer) {
         trainer.set_groups({{.pattern = "*/b", .rate = 0.1f}});
         trainer.sparse_updates = SparseUpdates::exact;
         trainer.weight_decay = 0.01f;
       }},
      {"groups_by_epoch",
       [](TrainingOptions& options) {
         options.groups = {{1, {{.pattern = "/embedding*", .frozen = true}}},
                           {2, {{.pattern = "*/b", .rate = 0.1f}}},
                           {3, {{.pattern = "/linear*", .frozen = true}}}};
       },
       [](Trainer& trainer) { trainer.sparse_updates = SparseUpdates::exact; }},
  };
}

struct Stopped {};

class TrainingRunTest : public testing::TestWithParam<Setting> {
 protected:
  static void expect_same(const Program& whole, const Program& other) {
    EXPECT_EQ(other.values(), whole.values());
    const TrainingProgress &a = other.run->progress(), &b = whole.run->progress();
    EXPECT_EQ(a.curve.to_csv(), b.curve.to_csv());
    EXPECT_EQ(a.updates, b.updates);
    EXPECT_EQ(a.epochs, b.epochs);
    EXPECT_EQ(a.best_epoch, b.best_epoch);
    EXPECT_EQ(a.best_score, b.best_score);
    EXPECT_EQ(a.plateau.scale, b.plateau.scale);
  }
};

INSTANTIATE_TEST_SUITE_P(All, TrainingRunTest, testing::ValuesIn(settings()),
                         [](const auto& test) { return test.param.name; });

TEST_P(TrainingRunTest, StoppedAnywhereItGoesOnWithTheSameBits) {
  Program whole(GetParam(), new_folder("whole"));
  whole.train();
  EXPECT_FALSE(whole.run->interrupted());
  for (const int stop : {0, 5, 6, 16}) {  // the first, within an update, the last, and later
    SCOPED_TRACE(stop);
    const std::string folder = new_folder("parts");
    Program first(GetParam(), folder);
    first.train([&](TrainingRun& run, int minibatch) {
      if (minibatch == stop) run.stop();
    });
    EXPECT_TRUE(first.run->interrupted());
    EXPECT_FALSE(first.run->next_epoch());
    first.run.reset();
    Program second(GetParam(), folder, true);
    second.train();
    EXPECT_FALSE(second.run->interrupted());
    expect_same(whole, second);
  }
}

// As if it were killed: what was saved last is all that there is.
TEST_P(TrainingRunTest, KilledAnywhereItGoesOnFromTheLastEpoch) {
  Program whole(GetParam(), new_folder("whole"));
  whole.train();
  for (const int stop : {9}) {
    SCOPED_TRACE(stop);
    const std::string folder = new_folder("parts");
    const auto die = [&](TrainingRun&, int minibatch) {
      if (minibatch == stop) throw Stopped();
    };
    EXPECT_THROW(Program(GetParam(), folder).train({}, die), Stopped);
    Program second(GetParam(), folder, true);
    second.train();
    expect_same(whole, second);
  }
}

TEST_P(TrainingRunTest, WhatFailsGoesOnInTheSameProcess) {
  Program whole(GetParam(), "");
  whole.train();
  for (const bool after : {false, true}) {
    Program other(GetParam(), "");
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
    expect_same(whole, other);
  }
}

}  // namespace
}  // namespace dynet_like::nn

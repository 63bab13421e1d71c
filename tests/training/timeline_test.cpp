// A training run on a timeline: its first minibatches, their updates, and the file.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "tests/support/timeline_events.h"
#include "tests/support/training_program.h"

namespace dynet_like::nn {
namespace {

using namespace training_program;

const Setting kPlain = {"plain"};

// A run whose timeline has so many minibatches and is saved there.
void train(Timeline& timeline, unsigned minibatches, const std::string& file,
           const Program::Hook& after = {}) {
  Program program(kPlain, "", false, [&](TrainingOptions& options) {
    options.timeline = &timeline;
    options.timeline_minibatches = minibatches;
    options.timeline_file = file;
  });
  program.train({}, after);
}

TEST(TrainingTimelineTest, HasTheFirstMinibatchesAndIsSavedBehindThem) {
  const std::string file = testing::TempDir() + "timeline.json";
  std::filesystem::remove(file);
  Timeline timeline;
  std::size_t updates = 0, with_file = 0;
  train(timeline, 3, file, [&](TrainingRun&, int) {
    ++updates;
    with_file += std::filesystem::exists(file) ? 1 : 0;
  });
  ASSERT_GT(updates, 3u);
  EXPECT_EQ(with_file, updates - 3);
  const TimelineEvents events(text_of(file));
  events.expect_nested();
  EXPECT_EQ(events.named("minibatch").size(), 3u);
  ASSERT_EQ(events.named("update").size(), 3u);
  for (const auto& update : events.named("update")) {
    EXPECT_TRUE(events.is_within(update, "minibatch"));
  }
  EXPECT_EQ(text_of(file), timeline.json());
}

TEST(TrainingTimelineTest, IsSavedAtTheEndOfAShortRun) {
  for (const unsigned most : {0u, 1000u}) {
    const std::string file = testing::TempDir() + "timeline.json";
    std::filesystem::remove(file);
    Timeline timeline;
    std::size_t updates = 0;
    train(timeline, most, file, [&](TrainingRun&, int) { ++updates; });
    EXPECT_EQ(TimelineEvents(text_of(file)).named("minibatch").size(), updates);
  }
}

TEST(TrainingTimelineTest, MayLackAFile) {
  Timeline timeline;
  train(timeline, 2, "");
  EXPECT_EQ(TimelineEvents(timeline.json()).named("minibatch").size(), 2u);
}

TEST(TrainingTimelineTest, AFileThatCannotBeWrittenIsAnError) {
  Timeline timeline;
  EXPECT_THROW(train(timeline, 2, testing::TempDir() + "none/timeline.json"), FileError);
}

}  // namespace
}  // namespace dynet_like::nn

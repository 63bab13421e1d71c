// A timeline by itself: scopes, threads, what bounds it, and its file.
#include <thread>

#include "dynet_like/core/timeline_track.h"
#include "tests/support/precompiled.h"
#include "tests/support/timeline_events.h"

namespace dynet_like {
namespace {

TEST(TimelineTest, ScopesNest) {
  Timeline timeline;
  {
    const Timeline::Scope outer(timeline, "outer");
    EXPECT_EQ(timeline.time("inner", [] { return 7; }), 7);
    int n = 0;
    int& same = timeline.time("inner", [&]() -> int& { return n; });
    EXPECT_EQ(&same, &n);
  }
  const TimelineEvents events(timeline.json());
  events.expect_nested();
  ASSERT_EQ(events.rows.size(), 1u);
  EXPECT_EQ(events.rows.begin()->second.front().name, "outer");
  ASSERT_EQ(events.named("inner").size(), 2u);
  for (const auto& event : events.named("inner")) EXPECT_TRUE(events.is_within(event, "outer"));
  EXPECT_EQ(timeline.size(), 3u);
}

TEST(TimelineTest, AnExceptionEndsAScope) {
  Timeline timeline;
  EXPECT_THROW(timeline.time("failed", [] { throw 1; }), int);
  EXPECT_EQ(TimelineEvents(timeline.json()).named("failed").size(), 1u);
}

TEST(TimelineTest, NamesMayHaveAnyBytes) {
  const std::string name = "\"quoted\" \\ \n\t\x01 </script> \xc3\xa4";
  Timeline timeline;
  timeline.time(name, [] {});
  timeline.time("no UTF-8: \xff", [] {});
  const TimelineEvents events(timeline.json());
  EXPECT_EQ(events.named("\"quoted\" \\ \\x0A\\x09\\x01 </script> \xc3\xa4").size(), 1u);
  EXPECT_EQ(events.named("no UTF-8: \\xFF").size(), 1u);
}

TEST(TimelineTest, EveryThreadHasARow) {
  constexpr int kThreads = 4, kScopes = 1000;
  Timeline timeline;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kScopes; ++i) timeline.time("thread " + std::to_string(t), [] {});
    });
  }
  while (timeline.size() < kScopes) timeline.json();  // at the same time
  for (std::thread& thread : threads) thread.join();
  const TimelineEvents events(timeline.json());
  events.expect_nested();
  EXPECT_EQ(timeline.size(), std::size_t{kThreads * kScopes});
  for (const auto& [tid, row] : events.rows) {
    for (const auto& event : row) EXPECT_EQ(event.name, row.front().name);
  }
}

TEST(TimelineTest, IsBounded) {
  Timeline timeline(10);
  for (int i = 0; i < 17; ++i) timeline.time("event", [] {});
  EXPECT_EQ(timeline.size(), 10u);
  EXPECT_EQ(timeline.dropped(), 7u);
  const TimelineEvents events(timeline.json());
  EXPECT_EQ(events.named("event").size(), 10u);
  EXPECT_EQ(events.all["otherData"]["events"], 10);
  EXPECT_EQ(events.all["otherData"]["dropped"], 7);
  EXPECT_NE(timeline.json().find("7 events dropped"), std::string::npos);
}

TEST(TimelineTest, NothingIsAddedOnceItWasStopped) {
  Timeline timeline;
  {
    const Timeline::Scope open(timeline, "open");
    timeline.stop();
    timeline.time("later", [] {});
  }
  const TimelineEvents events(timeline.json());
  EXPECT_EQ(events.named("open").size(), 1u);
  EXPECT_TRUE(events.named("later").empty());
  EXPECT_EQ(timeline.dropped(), 0u);
}

TEST(TimelineTest, WhatOverlapsHasARowOfItsOwn) {
  Timeline timeline;
  detail::TimelineTrack& track = timeline.state()->track();
  const auto at = [begin = detail::TimelineClock::now()](int n) {
    return begin + std::chrono::microseconds(n);
  };
  const auto add = [&](const std::string& name, int begin, int end) {
    track.add(timeline.state()->label({name}), at(begin), at(end));
  };
  add("first", 0, 10);
  add("inside", 2, 4);
  add("overlaps", 5, 12);
  add("overlaps both", 7, 14);
  add("after", 14, 15);
  const TimelineEvents events(timeline.json());
  events.expect_nested();
  ASSERT_EQ(events.rows.size(), 3u);
  EXPECT_EQ(events.rows.at(1).size(), 3u);
  EXPECT_EQ(events.rows.at(2).front().name, "overlaps");
  EXPECT_EQ(events.rows.at(3).front().name, "overlaps both");
}

TEST(TimelineTest, ShortCallsThatFollowOneAnotherAreOneEvent) {
  Timeline timeline;
  detail::TimelineTrack& track = timeline.state()->track();
  const std::uint32_t label = timeline.state()->label({"sum", "", "", {"elements"}});
  const auto begin = detail::TimelineClock::now();
  const auto add = [&](int at) {
    const auto from = begin + std::chrono::microseconds(at);
    track.add_to_last(label, from, from + std::chrono::microseconds(2), {5});
  };
  for (int at : {0, 10, 20}) add(at);
  timeline.time("between", [] {});
  add(30);
  const auto events = TimelineEvents(timeline.json()).named("sum");
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].end - events[0].begin, 6000);
  EXPECT_EQ(events[0].args["elements"], 15);
  EXPECT_EQ(events[1].end - events[1].begin, 2000);
}

TEST(TimelineTest, IsSavedAsAWholeOrNotAtAll) {
  const std::filesystem::path folder = ::testing::TempDir();
  const std::filesystem::path file = folder / "timeline.json";
  Timeline timeline;
  timeline.time("event", [] {});
  std::ofstream(file) << "what was there";
  timeline.save(file);
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  EXPECT_EQ(text.str(), timeline.json());
  EXPECT_THROW(timeline.save(folder), FileError);
  EXPECT_THROW(timeline.save(folder / "none" / "timeline.json"), FileError);
}

}  // namespace
}  // namespace dynet_like

// <dynet/timing.h> and <dynet/str-util.h>.
#include <dynet/str-util.h>
#include <dynet/timing.h>
#include <thread>

#include "dynet_like/core/errors.h"
#include "tests/support/precompiled.h"

namespace {

using namespace dynet;

void wait() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

TEST(CompatTimingTest, TimersPrintWhenTheyAreDestroyed) {
  testing::internal::CaptureStderr();
  auto timer = std::make_unique<Timer>("completed in");
  wait();
  timer.reset();
  std::istringstream line(testing::internal::GetCapturedStderr());
  std::string completed, in, unit;
  double milliseconds = 0;
  line >> completed >> in >> milliseconds >> unit;
  EXPECT_EQ(completed + ' ' + in + ' ' + unit, "[completed in ms]");
  EXPECT_GE(milliseconds, 5);
}

TEST(CompatTimingTest, WatchesRunFromTheBeginning) {
  const Timing watch;
  wait();
  const double first = watch.stop();
  EXPECT_GE(first, 5);
  EXPECT_GE(watch.stop(), first);
}

TEST(CompatTimingTest, NamedTimesAddUp) {
  NamedTimer timer;
  for (int i = 0; i < 3; ++i) {
    timer.start("work");
    wait();
    timer.stop("work");
  }
  EXPECT_THROW(timer.stop("work"), dynet_like::UsageError);
  testing::internal::CaptureStderr();
  timer.show();
  std::istringstream line(testing::internal::GetCapturedStderr());
  std::string name;
  double milliseconds = 0;
  line >> name >> milliseconds;
  EXPECT_EQ(name, "work");
  EXPECT_GE(milliseconds, 15);
}

TEST(CompatTimingTest, BeginningsOfStrings) {
  EXPECT_TRUE(startswith("--dynet-seed", "--dynet"));
  EXPECT_FALSE(startswith("-d", "--"));
}

}  // namespace

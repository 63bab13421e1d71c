// Schedules of the learning rate, against numbers computed by hand.
#include "dynet_like/core/errors.h"
#include "nn/train/schedules.h"
#include "nn/train/training_options.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

std::vector<float> rates(const Schedule& schedule, const std::vector<std::uint64_t>& steps) {
  std::vector<float> rates;
  for (const std::uint64_t step : steps) rates.push_back(schedule.rate(step));
  return rates;
}

TEST(SchedulesTest, Constant) {
  EXPECT_EQ(rates(0.25f, {0, 1, 1000000}), (std::vector<float>{0.25f, 0.25f, 0.25f}));
}

TEST(SchedulesTest, Exponential) {
  const ExponentialRate smooth = {.start = 8, .factor = 0.25f, .every = 2, .floor = 0.75f};
  EXPECT_EQ(rates(smooth, {0, 1, 2, 3, 4}), (std::vector<float>{8, 4, 2, 1, 0.75f}));
  ExponentialRate stairs = smooth;
  stairs.in_stairs = true;
  EXPECT_EQ(rates(stairs, {0, 1, 2, 3, 4}), (std::vector<float>{8, 8, 2, 2, 0.75f}));
}

TEST(SchedulesTest, Cosine) {
  const CosineRate cosine = {.peak = 5, .updates = 6, .floor = 1};
  // cos of 0, 60, 90, 120 degrees.
  const std::vector<float> found = rates(cosine, {0, 2, 3, 4});
  const std::vector<float> expected = {5, 4, 3, 2};
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-6f) << i;
  EXPECT_EQ(rates(cosine, {6, 7, 1000}), (std::vector<float>{1, 1, 1}));
}

TEST(SchedulesTest, Linear) {
  const LinearRate line = {.peak = 5, .updates = 4, .floor = 1};
  EXPECT_EQ(rates(line, {0, 1, 2, 3, 4, 5, 1000}), (std::vector<float>{5, 4, 3, 2, 1, 1, 1}));
  EXPECT_EQ(rates(LinearRate{.peak = 2, .updates = 4}, {0, 1, 3, 4}),
            (std::vector<float>{2, 1.5f, 0.5f, 0}));
  EXPECT_EQ(line.description(), "LinearRate(peak=5, updates=4, floor=1)");
  // Behind a warm-up, to the end of a run of eight updates.
  EXPECT_EQ(rates(WarmUp{4, LinearRate{.peak = 8, .updates = 8 - 4}}, {0, 1, 2, 3, 4, 5, 6, 7, 8}),
            (std::vector<float>{2, 4, 6, 8, 8, 6, 4, 2, 0}));
}

// Vaswani et al. (2017): d_model^-0.5 * min(step_num^-0.5, step_num * warmup_steps^-1.5).
TEST(SchedulesTest, InverseSquareRoot) {
  const InverseSquareRootRate rate = {.peak = 1 / std::sqrt(512.0f * 4000), .warm_up = 4000};
  for (const std::uint64_t step : {0u, 1u, 3998u, 3999u, 4000u, 99999u}) {
    const double number = static_cast<double>(step + 1);
    const double paper =
        std::pow(512.0, -0.5) * std::min(std::pow(number, -0.5), number * std::pow(4000.0, -1.5));
    EXPECT_NEAR(rate.rate(step), paper, 1e-10) << step;
  }
  const InverseSquareRootRate small = {.peak = 8, .warm_up = 4};
  EXPECT_EQ(rates(small, {0, 1, 3, 15, 63}), (std::vector<float>{2, 4, 8, 4, 2}));
}

TEST(SchedulesTest, WarmUpBeforeAnotherOne) {
  const WarmUp rate = {4, ExponentialRate{.start = 8, .factor = 0.5f}};
  EXPECT_EQ(rates(rate, {0, 1, 2, 3, 4, 5, 6}), (std::vector<float>{2, 4, 6, 8, 8, 4, 2}));
  EXPECT_EQ(Schedule(rate).description(),
            "WarmUp(updates=4, then ExponentialRate(start=8, factor=0.5, every=1, floor=0))");
  const WarmUp twice = {2, WarmUp{2, 8.0f}};
  EXPECT_EQ(rates(twice, {0, 1, 2, 3, 4}), (std::vector<float>{2, 4, 4, 8, 8}));
}

TEST(SchedulesTest, Cyclical) {
  const CyclicalRate cycle = {1, 3, 2};
  EXPECT_EQ(rates(cycle, {0, 1, 2, 3, 4, 5}), (std::vector<float>{1, 2, 3, 2, 1, 2}));
}

TEST(SchedulesTest, OfYourOwn) {
  struct Own {
    float rate(std::uint64_t step) const { return step < 10 ? 1.0f : 0.5f; }
    std::string description() const { return "Own"; }
    void check() const {}
  };
  EXPECT_EQ(rates(Own(), {9, 10}), (std::vector<float>{1, 0.5f}));
}

TEST(SchedulesTest, PlateausShrinkTheRate) {
  const Plateau plateau = {.factor = 0.5f, .patience = 2, .least = 0.2f};
  Plateau::State state;
  std::vector<float> scales;
  for (const bool is_better : {true, false, false, true, false, false, false,  // the third in a row
                               false, false, false, false, false, false}) {
    state = plateau.after_epoch(state, is_better);
    scales.push_back(state.scale);
  }
  EXPECT_EQ(scales,
            (std::vector<float>{1, 1, 1, 1, 1, 1, 0.5f, 0.5f, 0.5f, 0.25f, 0.25f, 0.25f, 0.2f}));
}

TEST(SchedulesTest, ConstantsAreChecked) {
  const float nan = std::nanf("");
  EXPECT_THROW(Schedule(-1.0f), UsageError);
  EXPECT_THROW(Schedule{nan}, UsageError);
  EXPECT_THROW(Schedule(ExponentialRate{.factor = 1.5f}), UsageError);
  EXPECT_THROW(Schedule(ExponentialRate{.every = 0}), UsageError);
  EXPECT_THROW(Schedule(CosineRate{.updates = 0}), UsageError);
  EXPECT_THROW(Schedule(LinearRate{.updates = 0}), UsageError);
  EXPECT_THROW(Schedule(LinearRate{.peak = nan}), UsageError);
  EXPECT_THROW(Schedule(LinearRate{.floor = -1}), UsageError);
  EXPECT_THROW(Schedule(InverseSquareRootRate{.warm_up = 0}), UsageError);
  EXPECT_THROW(Schedule(WarmUp{0, 1.0f}), UsageError);
  EXPECT_THROW(Schedule(CyclicalRate{2, 1, 1}), UsageError);
  EXPECT_THROW(Plateau{.factor = 1}.check(), UsageError);
  EXPECT_THROW(Plateau{.least = 2}.check(), UsageError);
  EXPECT_EQ(message_of<UsageError>([] { Schedule(CosineRate{.peak = -1, .updates = 5}); }),
            "[Schedule] need finite rates from 0 and updates > 0; got CosineRate(peak=-1, "
            "updates=5, floor=0)");
}

TEST(SchedulesTest, MayStillRiseAtTheEnd) {
  const WarmUp warm = {100, LinearRate{.peak = 1, .updates = 100}};
  for (const std::uint64_t steps : {1u, 2u, 50u, 99u})
    EXPECT_TRUE(rises_until(warm, steps)) << steps;
  for (const std::uint64_t steps : {0u, 100u, 101u, 200u, 100000u}) {
    EXPECT_FALSE(rises_until(warm, steps)) << steps;
  }
  const WarmUp longer = {100000, 1.0f};
  for (const std::uint64_t steps : {999u, 1000u, 5000u, 99999u}) {
    EXPECT_TRUE(rises_until(longer, steps)) << steps;
  }
  EXPECT_FALSE(rises_until(longer, 100000));
  EXPECT_TRUE(rises_until(InverseSquareRootRate{.warm_up = 4000}, 3998));
  EXPECT_FALSE(rises_until(InverseSquareRootRate{.warm_up = 4000}, 4001));
  EXPECT_FALSE(rises_until(0.5f, 10));
  EXPECT_FALSE(rises_until(CosineRate{.updates = 10}, 5));
  // In a cycle that is not the first, the rate has been higher.
  const CyclicalRate cycle = {1, 3, 10};
  EXPECT_TRUE(rises_until(cycle, 9));
  EXPECT_FALSE(rises_until(cycle, 15));
  EXPECT_FALSE(rises_until(cycle, 25));
}

TEST(SchedulesTest, MayEndWithTheRun) {
  TrainingOptions options;
  options.epochs = 3;
  options.batch_size = 4;
  EXPECT_EQ(options.updates(0), 0u);
  EXPECT_EQ(options.updates(8), 6u);
  EXPECT_EQ(options.updates(9), 9u);
  options.accumulate = 2;
  EXPECT_EQ(options.updates(8), 3u);
  EXPECT_EQ(options.updates(9), 6u);
  options.batch_size = 0;
  EXPECT_THROW(options.updates(9), UsageError);
  options.batch_size = 4;
  options.accumulate = 0;
  EXPECT_THROW(options.updates(9), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn

// The model of a GPU, with numbers that can be checked by hand.
#include "bench/support/gpu_model.h"

#include <gtest/gtest.h>

namespace dynet_like::bench {
namespace {

// A launch takes 2, a byte of memory 1/10, an operation 1/100, a byte over the bus 1, a wait 5.
constexpr Gpu kGpu{2, 10, 100, 1, 5};

TEST(GpuModelTest, LaunchesAndCopiesAddUp) {
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {}), 0);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.launches = 3}), 6);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.launches = 3, .copies = 1, .bus_bytes = 7}), 15);
}

TEST(GpuModelTest, TheSlowerOfMemoryAndArithmeticCounts) {
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.flops = 500}), 5);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.flops = 500, .memory_bytes = 40}), 5);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.flops = 500, .memory_bytes = 60}), 6);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.launches = 1, .flops = 500, .memory_bytes = 60}), 8);
}

TEST(GpuModelTest, TheHostWorksBesideAllButForward) {
  const GpuWork forward{.launches = 10}, rest{.launches = 20};
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, forward, rest, 0), 60);
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, forward, rest, 40), 60);
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, forward, rest, 41), 61);
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, forward, {}, 41), 61);
}

TEST(GpuModelTest, EveryWaitCosts) {
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, {.waits = 1}, {.waits = 2}, 0), 15);
  // A wait is no work of the device: the host is not beside it.
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, {.waits = 1}, {}, 3), 8);
}

// 100 launches of 2.5 us, 33 MB at 3.3 TB/s are 10 us, 1.2 GFLOP at 60 TFLOP/s are 20 us, 250 kB
// at 25 GB/s are 10 us.
TEST(GpuModelTest, TheDefaultsAreAnH100) {
  const GpuWork work{100, 1.2e9, 33e6, 1, 250e3, 1};
  EXPECT_NEAR(busy_seconds({}, work) * 1e6, 250 + 2.5 + 20 + 10, 1e-9);
  EXPECT_NEAR(predict_seconds({}, work, {}, 0) * 1e6, 292.5, 1e-9);
}

}  // namespace
}  // namespace dynet_like::bench

// The prediction for GPUs, in cases that can be computed by hand.
#include "bench/support/device_work.h"

#include <gtest/gtest.h>

namespace dynet_like::bench {
namespace {

/// Microseconds, from the constants of the fast GPU: 2 for a launch, on the device and for the
/// host, 1.3 and 0.5 for a step, 8 for a wait and for 1,000 terms, 1 for 25 kB over the bus, for 3
/// MB of memory and for 40 million operations.
double least(const DeviceWork& work) { return 1e6 * predict(work).least; }

TEST(DeviceWorkTest, PredictionsByHand) {
  DeviceWork work;
  work.minibatches = 2;
  work.host_seconds = 5e-6;
  EXPECT_DOUBLE_EQ(least(work), 5);
  work.forward.launches = 6;
  work.forward.copies_to_device = 2;
  EXPECT_DOUBLE_EQ(least(work), 5 + 8);
  work.forward.bytes_to_device = 50000;
  work.forward.synchronisations = 2;
  EXPECT_DOUBLE_EQ(least(work), 5 + 8 + 1 + 8);
  work.forward.meetings = 20;
  EXPECT_DOUBLE_EQ(least(work), 5 + 8 + 1 + 8 + 13);
  EXPECT_GT(predict(work).most, predict(work).least);
}

TEST(DeviceWorkTest, TheSlowestCounts) {
  DeviceWork work;
  work.forward_flops = 40e6;
  EXPECT_DOUBLE_EQ(least(work), 1);
  work.value_bytes = 3e6;
  EXPECT_DOUBLE_EQ(least(work), 2);
  work.forward.product_terms = 1000;
  EXPECT_DOUBLE_EQ(least(work), 8);
  // The host records the next minibatch while the device runs backward.
  work = DeviceWork();
  work.gradient_bytes = 15e6;  // written and read: 10
  work.host_seconds = 4e-6;
  EXPECT_DOUBLE_EQ(least(work), 10);
  work.host_seconds = 12e-6;
  EXPECT_DOUBLE_EQ(least(work), 12);
}

}  // namespace
}  // namespace dynet_like::bench

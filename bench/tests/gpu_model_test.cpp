// The model of a GPU, with numbers that can be checked by hand.
#include "bench/support/gpu_model.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "dynet_like/core/errors.h"

namespace dynet_like::bench {
namespace {

// A launch takes 2, a byte of memory 1/10, an operation 1/100, a byte over the bus 1, a wait 5; the
// host takes 3 to queue a launch or copy, and a term of a product takes 1/2. A step that needs no
// launch takes 1/4 on the device and 1/8 on the host.
constexpr Gpu kGpu{2, 10, 100, 1, 5, 3, 0.5, 0.25, 0.125};
// The same with a host that takes no time.
constexpr Gpu kAlone{2, 10, 100, 1, 5, 0, 0.5, 0.25, 0};

TEST(GpuModelTest, LaunchesAndCopiesAddUp) {
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {}), 0);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.launches = 3}), 6);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.launches = 3, .copies = 1, .bus_bytes = 7}), 15);
  EXPECT_DOUBLE_EQ(asking_seconds(kGpu, {.launches = 3, .copies = 1, .bus_bytes = 7}), 12);
}

TEST(GpuModelTest, StepsThatShareALaunchCostLess) {
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.launches = 3, .meetings = 8}), 8);
  EXPECT_DOUBLE_EQ(asking_seconds(kGpu, {.launches = 3, .meetings = 8}), 10);
}

TEST(GpuModelTest, TheSlowerOfMemoryAndArithmeticCounts) {
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.flops = 500}), 5);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.flops = 500, .memory_bytes = 40}), 5);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.flops = 500, .memory_bytes = 60}), 6);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.launches = 1, .flops = 500, .memory_bytes = 60}), 8);
}

TEST(GpuModelTest, ProductsOfFewColumnsWaitForTheirTerms) {
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.flops = 500, .product_terms = 9}), 5);
  EXPECT_DOUBLE_EQ(busy_seconds(kGpu, {.flops = 500, .product_terms = 12}), 6);
}

TEST(GpuModelTest, TheHostWorksBesideTheDevice) {
  const GpuWork forward{.launches = 10}, rest{.launches = 20};
  EXPECT_DOUBLE_EQ(predict_seconds(kAlone, forward, rest, 0), 60);
  EXPECT_DOUBLE_EQ(predict_seconds(kAlone, forward, rest, 40), 60);
  EXPECT_DOUBLE_EQ(predict_seconds(kAlone, forward, rest, 41), 61);
  EXPECT_DOUBLE_EQ(predict_seconds(kAlone, forward, {}, 41), 61);
  // If the host queues more slowly than the device works, the device waits for it.
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, forward, rest, 0), 90);
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, forward, rest, 7), 97);
  const GpuWork slow{.flops = 8000};
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, slow, slow, 70), 160);
}

TEST(GpuModelTest, EveryWaitCosts) {
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, {.waits = 1}, {.waits = 2}, 0), 15);
  // A wait is not work of the device: the host does nothing meanwhile.
  EXPECT_DOUBLE_EQ(predict_seconds(kGpu, {.waits = 1}, {}, 3), 8);
}

TEST(GpuModelTest, ConstantsTravelInFiles) {
  const Gpu gpu = gpu_of(to_json(kGpu));
  EXPECT_EQ(to_json(gpu), to_json(kGpu));
  EXPECT_EQ(gpu.launch_seconds, 2);
  EXPECT_EQ(gpu.host_call_seconds, 3);
  const std::string file = std::string(::getenv("TMPDIR")) + "/constants.json";
  std::ofstream(file) << nlohmann::json{{"device", "cuda:0"}, {"gpu", to_json(kGpu)}};
  const GpuRange range = read_constants(file);
  EXPECT_TRUE(range.is_measured);
  EXPECT_EQ(to_json(range.fast), to_json(kGpu));
  EXPECT_EQ(to_json(range.slow), to_json(kGpu));
  EXPECT_FALSE(GpuRange().is_measured);
}

TEST(GpuModelTest, ConstantsThatMakeNoSenseAreErrors) {
  nlohmann::json json = to_json(kGpu);
  const auto error_of = [&]() -> std::string {
    try {
      gpu_of(json);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  json["wait_seconds"] = 0;
  EXPECT_EQ(error_of(), "need a number above 0 for wait_seconds; got 0");
  json["wait_seconds"] = "long";
  EXPECT_EQ(error_of(), "need a number above 0 for wait_seconds; got none");
  json.erase("wait_seconds");
  EXPECT_EQ(error_of(), "need a number above 0 for wait_seconds; got none");
  const std::string folder = ::getenv("TMPDIR");
  EXPECT_THROW(read_constants(folder + "/none.json"), FileError);
  for (const char* const text : {"", "{", "[]", "{}", R"({"gpu": 3})"}) {
    std::ofstream(folder + "/bad.json") << text;
    EXPECT_THROW(read_constants(folder + "/bad.json"), UsageError) << text;
  }
}

TEST(GpuModelTest, ThereIsARange) {
  const GpuWork forward{100, 1.2e9, 33e6, 1, 250e3, 1, 1000},
      rest{150, 2.4e9, 66e6, 1, 500e3, 0, 2000};
  EXPECT_LT(2 * predict_seconds(kFast, forward, rest, 0), predict_seconds(kSlow, forward, rest, 0));
  EXPECT_NEAR(busy_seconds(kFast, forward) * 1e6, 202 + 30 + 10, 1e-9);
}

}  // namespace
}  // namespace dynet_like::bench

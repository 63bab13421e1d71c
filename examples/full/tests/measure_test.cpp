// Speeds of samples that wait for each other are measured only if the results are the same.
#include "examples/full/support/measure.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace dynet_like::examples {
namespace {

// Takes some time.
double work(unsigned rounds) {
  volatile double sum = 0;
  for (unsigned i = 0; i < rounds; ++i) sum = sum + 1.0 / (i + 1);
  return sum;
}

TEST(MeasureWaitingTest, TogetherAndAlone) {
  const nlohmann::json report = measure_waiting("things", 100, 8, [](unsigned together) {
    work(together == 8 ? 2'000'000 : 20'000'000);
    return std::vector<int>{1, 2, 3};
  });
  EXPECT_EQ(report.size(), 2u);
  const double alone = report["things_per_s_alone"].get<double>();
  EXPECT_GT(alone, 0);
  EXPECT_GT(report["things_per_s"].get<double>(), 3 * alone);
}

TEST(MeasureWaitingTest, RefusesOtherResults) {
  const auto decide = [](unsigned together) { return work(100'000) + together; };
  EXPECT_THROW(measure_waiting("things", 1, 2, decide), std::logic_error);
  EXPECT_NO_THROW(measure_waiting("things", 1, 1, decide));
}

}  // namespace
}  // namespace dynet_like::examples

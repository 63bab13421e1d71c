// Histograms: numbers below, on and above each limit.
#include "dynet_like/serve/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace dynet_like::serve {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(HistogramTest, ANumberOnALimitCountsUpToIt) {
  Histogram histogram({1, 2.5, 4});
  for (const double limit : {1.0, 2.5, 4.0}) {
    for (const double to : {-kInfinity, limit, kInfinity}) {
      histogram.add(std::nextafter(limit, to));
    }
  }
  histogram.add(-1);
  histogram.add(kInfinity);
  const std::string text = histogram.text("x", "numbers");
  EXPECT_EQ(text.substr(0, text.find("x_sum")),
            "# HELP x numbers\n# TYPE x histogram\n"
            "x_bucket{le=\"1\"} 3\nx_bucket{le=\"2.5\"} 6\nx_bucket{le=\"4\"} 9\n"
            "x_bucket{le=\"+Inf\"} 11\n");
  EXPECT_NE(text.find("x_sum inf\nx_count 11\n"), std::string::npos) << text;
}

TEST(MetricsTest, BatchesCountUpToTheirSize) {
  Metrics metrics;
  for (std::size_t size = 1; size <= 512; ++size) metrics.add_batch(size);
  const std::string text = metrics.text(0, 0);
  for (std::size_t size = 1; size <= 512; size *= 2) {
    const std::string number = std::to_string(size);
    EXPECT_NE(text.find("batch_size_bucket{le=\"" + number + "\"} " + number + "\n"),
              std::string::npos)
        << size;
  }
}

}  // namespace
}  // namespace dynet_like::serve

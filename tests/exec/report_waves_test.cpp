// What a report prints of waves leaves the stream as it was.
#include <gtest/gtest.h>

#include <sstream>

#include "dynet_like/dynet_like.h"

namespace dynet_like {
namespace {

TEST(ReportWavesTest, LeavesThePrecisionOfTheStream) {
  Minibatch batch;
  for_each_sample(batch, 4, [](ComputationGraph& graph, std::size_t) {
    return as_scalar(square(input(graph, 2.0f)).value());
  });
  std::ostringstream text;
  text << batch.explain();
  EXPECT_NE(text.str().find("1 wave of samples"), std::string::npos) << text.str();
  text.str("");
  text << 98.76;
  EXPECT_EQ(text.str(), "98.76");
}

}  // namespace
}  // namespace dynet_like

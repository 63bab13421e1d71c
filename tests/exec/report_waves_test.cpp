// What a report prints of waves leaves the stream as it was.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

TEST(ReportWavesTest, LeavesThePrecisionOfTheStream) {
  Minibatch batch;
  for_each_sample(batch, 4, [](ComputationGraph& graph, std::size_t) {
    return as_scalar(square(input(graph, 2.0f)).value());
  });
  std::ostringstream text;
  text << batch.explain();
  EXPECT_TRUE(mentions(text.str(), "1 wave of samples"));
  text.str("");
  text << 98.76;
  EXPECT_EQ(text.str(), "98.76");
}

}  // namespace
}  // namespace dynet_like

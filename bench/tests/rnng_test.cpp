// The grammar of the benchmark finds the same together as alone, in little memory.
#include "bench/models/rnng.h"

#include <gtest/gtest.h>

namespace dynet_like::bench {
namespace {

GraphOptions inference() {
  GraphOptions options;
  options.inference = true;
  return options;
}

class RnngTest : public testing::TestWithParam<std::size_t> {
 protected:
  RnngTest() {
    Random random(1);
    for (std::size_t i = 0; i < 12; ++i) {
      sentences_.emplace_back(3 + i);
      for (unsigned& word : sentences_.back()) word = random.below(rnng_.words());
    }
  }

  Rnng rnng_{12, 600, 5};
  std::vector<Rnng::Words> sentences_;
  nn::SearchOptions options_ = {.beam = 6, .word_beam = GetParam(), .n_best = 2};
};

TEST_P(RnngTest, TogetherAsAlone) {
  Minibatch batch(inference());
  const auto parses = for_each_sample(
      batch, sentences_,
      [&](ComputationGraph& graph, const auto& s) { return rnng_.parse(graph, s, options_); });
  for (std::size_t i = 0; i < sentences_.size(); ++i) {
    ComputationGraph graph;
    EXPECT_EQ(rnng_.parse(graph, sentences_[i], options_), parses[i]) << i;
    EXPECT_EQ(parses[i].size(), 2u);
  }
}

// A beam over the user's own states needs memory for these states, not for all steps.
TEST_P(RnngTest, LongSentencesTakeLittleMemory) {
  const auto peak_of = [&](const GraphOptions& options) {
    ComputationGraph graph(options);
    rnng_.parse(graph, Rnng::Words(60, 1), options_);
    return static_cast<double>(graph.explain().peak_bytes);
  };
  EXPECT_LT(peak_of(inference()), 0.1 * peak_of({}));
}

INSTANTIATE_TEST_SUITE_P(WordBeam, RnngTest, testing::Values(0, 3),
                         [](const auto& info) { return std::to_string(info.param); });

}  // namespace
}  // namespace dynet_like::bench

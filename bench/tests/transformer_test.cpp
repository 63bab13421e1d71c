// The Transformer tagger of the benchmark: one model written in two ways, and different lengths.
#include <gtest/gtest.h>

#include "bench/models/transformer.h"

namespace dynet_like::bench::transformer {
namespace {

std::vector<unsigned> different_lengths() {
  std::vector<unsigned> lengths;
  for (unsigned words = 1; words <= 32; ++words) lengths.push_back(words);
  return lengths;
}

template <class Ops>
float loss(const TransformerTagger& tagger) {
  Minibatch batch;
  record<Ops>(batch, tagger, different_lengths());
  return batch.forward();
}

TEST(TransformerBenchmarkTest, BothWaysAreOneModel) {
  const TransformerTagger tagger;
  const float expected = loss<OtherOps>(tagger);
  EXPECT_GT(expected, 0);
  EXPECT_NEAR(loss<OneOp>(tagger), expected, 1e-5f * expected);
}

TEST(TransformerBenchmarkTest, SentencesOfDifferentLengthsShareBatches) {
  const TransformerTagger tagger;
  const auto different = explain<OneOp>(tagger, different_lengths()).batches;
  const auto equal = explain<OneOp>(tagger, std::vector<unsigned>(32, 16)).batches;
  EXPECT_LE(static_cast<double>(different), 1.2 * static_cast<double>(equal));
}

}  // namespace
}  // namespace dynet_like::bench::transformer

// Pointer-generators (See et al. 2017) decode sources of different lengths together, in few batches
// per wave, and learn to copy.
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using Words = std::vector<unsigned>;

constexpr unsigned kWords = 12, kSize = 16, kLength = 8;

/// What the next word depends on: the decoder, and the source as earlier words left it.
struct State {
  LSTM::State decoder;
  AttentionMemory source;
};
struct FoundCopy {
  Words actions;
  double sum;
};

/// With Luong's dot products.
struct DotCopier {
  ParameterCollection model{3};
  Embedding words{model, kWords, kSize, {.init = ParameterInitNormal()}};
  LSTM decoder{model, kSize, kSize};
  DotAttention attention;
  CopyOutput output{model, kSize, kWords, {.means = kSize}};
  static constexpr std::size_t kBatches = 6;

  AttentionMemory read(ComputationGraph& graph, const Words& source) const {
    return attention.read(words.columns(graph, source));
  }
  AttentionMemory after(const AttentionMemory& memory, const Attended&) const { return memory; }
};

/// With additive attention and coverage.
struct CoveringCopier {
  ParameterCollection model{3};
  Embedding words{model, kWords, kSize, {.init = ParameterInitNormal()}};
  LSTM decoder{model, kSize, kSize};
  AdditiveAttention attention{model, kSize, kSize, {.hidden = kSize}};
  Coverage cover{model, kSize};
  CopyOutput output{model, kSize, kWords, {.means = kSize}};
  static constexpr std::size_t kBatches = 10;

  AttentionMemory read(ComputationGraph& graph, const Words& source) const {
    return attention.read(words.columns(graph, source));
  }
  AttentionMemory after(const AttentionMemory& memory, const Attended& found) const {
    return cover(memory, found.weights);
  }
};

template <class Copier>
FoundCopy decode(const Copier& copier, ComputationGraph& graph, const Words& source) {
  Attended attended;  // of the last scores
  const Steps<State> steps = {
      .scores =
          [&](const State& state) {
            attended = copier.attention.attend(state.source, state.decoder.h);
            return copier.output(state.decoder.h, attended, source);
          },
      .advance =
          [&](const State& state, unsigned word) {
            return State{copier.decoder.step(state.decoder, copier.words(graph, word)),
                         copier.after(state.source, attended)};
          }};
  const State first = {copier.decoder.step(copier.decoder.start(graph), copier.words(graph, 0)),
                       copier.read(graph, source)};
  const auto found = greedy(first, steps, {.max_length = kLength});
  return {found.actions, found.sum};
}

std::vector<Words> sources_of(const std::vector<unsigned>& lengths) {
  Random random(5);
  std::vector<Words> all;
  for (const unsigned length : lengths) {
    Words& source = all.emplace_back(length);
    for (unsigned& word : source) word = random.below(kWords);
  }
  return all;
}

template <class Copier>
class CopyingTest : public ::testing::Test {};
using Copiers = ::testing::Types<DotCopier, CoveringCopier>;
TYPED_TEST_SUITE(CopyingTest, Copiers);

TYPED_TEST(CopyingTest, SourcesOfDifferentLengthsShareFewBatches) {
  const TypeParam copier;
  const auto sources = sources_of({5, 17, 1, 9, 30, 12, 2, 24, 7, 13});
  Minibatch batch({.inference = true});
  const auto together = for_each_sample(
      batch, sources,
      [&](ComputationGraph& graph, const Words& source) { return decode(copier, graph, source); });
  const Report report = batch.explain();
  ASSERT_EQ(report.waves.size(), kLength);
  for (std::size_t wave = 1; wave < kLength; ++wave) {  // the first reads the sources
    EXPECT_EQ(report.waves[wave].batches, TypeParam::kBatches) << "wave " << wave << '\n' << report;
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    ComputationGraph graph;
    const FoundCopy alone = decode(copier, graph, sources[i]);
    EXPECT_EQ(together[i].actions, alone.actions);
    EXPECT_EQ(together[i].sum, alone.sum);
  }
}

}  // namespace
}  // namespace dynet_like::nn

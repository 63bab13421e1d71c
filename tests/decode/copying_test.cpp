// Pointer-generators (See et al. 2017) decode sources of different lengths together, in few batches
// per wave, and learn to copy.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

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
  GraphOptions options;
  options.inference = true;
  Minibatch batch(options);
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

// A beam whose hypotheses cover the source in different ways: as one state for all, or one each.
TEST(CoverageBeamTest, AllHypothesesAtOnceFindTheSame) {
  struct Step {
    CoveringCopier copier;
    Words source;

    std::pair<Expression, AttentionMemory> operator()(const State& state) const {
      const Attended found = copier.attention.attend(state.source, state.decoder.h);
      return {3.0f * copier.output(state.decoder.h, found, source),
              copier.cover(state.source, found.weights)};
    }
  };
  const Step step{{}, {3, 5, 3, 1, kWords, 4, kWords + 1}};  // with two own words
  ComputationGraph graph;
  const auto row = [](unsigned word) { return std::min(word, kWords - 1); };
  const Steps<State> separate = {
      .scores = [&](const State& state) { return step(state).first; },
      .advance =
          [&](const State& state, unsigned word) {
            return State{
                step.copier.decoder.step(state.decoder, step.copier.words(graph, row(word))),
                step(state).second};
          }};
  const BatchedSteps<State> joint = {
      .scores = separate.scores,
      .advance =
          [&](const State& state, Words words) {
            for (unsigned& word : words) word = row(word);
            return State{
                step.copier.decoder.step(state.decoder, step.copier.words.minibatch(graph, words)),
                step(state).second};
          },
      .pick =
          [](const State& state, const Words& which) {
            return State{pick_batch_elems(state.decoder, which),
                         pick_batch_elems(state.source, which)};
          }};
  const State start = {
      step.copier.decoder.step(step.copier.decoder.start(graph), step.copier.words(graph, 0)),
      step.copier.read(graph, {3, 5, 3, 1, 11, 4, 11})};
  const SearchOptions options = {.end = 2, .max_length = 7, .beam = 5, .n_best = 5};
  const auto found = beam_search(start, separate, options),
             same = beam_search(start, joint, options);
  ASSERT_EQ(found.size(), 5u);
  ASSERT_EQ(same.size(), 5u);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].actions, same[i].actions);
    EXPECT_EQ(found[i].sum, same[i].sum);
  }
}

}  // namespace
}  // namespace dynet_like::nn

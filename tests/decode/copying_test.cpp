// A pointer-generator with coverage (See et al. 2017) decodes sources of different lengths
// together.
#include <gtest/gtest.h>

#include <algorithm>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace dynet_like::nn {
namespace {

using Words = std::vector<unsigned>;

constexpr unsigned kWords = 12, kSize = 16, kLength = 8;

/// What the next word depends on beside the source.
struct State {
  Expression h, c, coverage;
};

struct Copier {
  ParameterCollection model{3};
  Embedding words{model, kWords, kSize, ParameterInitNormal(0, 1)};
  LSTM decoder{model, kSize, kSize};
  AdditiveAttention attention{model, kSize, kSize, kSize};
  Linear of_coverage{model, 1, kSize, false, "coverage"};
  Linear output{model, 2 * kSize, kWords, true, "output"}, gate{model, 2 * kSize, 1, true, "gate"};

  struct Found {
    Words actions;
    double sum;
  };
  Found decode(ComputationGraph& graph, const Words& source) const {
    const auto n = static_cast<unsigned>(source.size());
    const AttentionMemory read = attention.read(words.columns(graph, source));
    const LSTM::State start = decoder.step(decoder.start(graph), words(graph, 0));
    Expression weights;  // of the last scores
    const Steps<State> steps = {
        .scores =
            [&](const State& state) {
              const Expression seen = reshape(of_coverage(state.coverage), {kSize, n});
              const AttentionMemory memory = {read.keys + seen, read.values};
              const Attended found = attention.attend(memory, state.h);
              weights = reshape(found.weights, Dim({1}, n));
              const Expression both = concatenate({state.h, found.mean});
              const Expression copied =
                  reshape(scatter_add(reshape(weights, {1, n}), source, kWords, 1), Dim({kWords}));
              const Expression share = logistic(gate(both));
              return log(cmult(softmax(output(both)), share) + cmult(copied, 1 - share));
            },
        .advance =
            [&](const State& state, unsigned word) {
              const LSTM::State next = decoder.step({state.h, state.c}, words(graph, word));
              return State{next.h, next.c, state.coverage + weights};
            }};
    const State first = {start.h, start.c, zeros(graph, Dim({1}, n))};
    const auto found = greedy(first, steps, {.max_length = kLength});
    return {found.actions, found.sum};
  }
};

std::vector<Words> sources_of(const std::vector<unsigned>& lengths) {
  Random random(5);
  std::vector<Words> all;
  for (const unsigned length : lengths) {
    Words& source = all.emplace_back(length);
    for (unsigned& word : source) word = random.below(kWords);
    std::ranges::sort(source);  // else, scatter_add orders columns first
  }
  return all;
}

Report report_of(const Copier& copier, const std::vector<Words>& sources,
                 std::vector<Copier::Found>& found) {
  GraphOptions options;
  options.inference = true;
  options.cells_after = 0;
  Minibatch batch(options);
  found = for_each_sample(batch, sources, [&](ComputationGraph& graph, const Words& source) {
    return copier.decode(graph, source);
  });
  return batch.explain();
}

// A wave takes as many batches as one of equal lengths, and what is found has the same bits alone.
TEST(CopyingTest, SourcesOfDifferentLengthsShareWaves) {
  const Copier copier;
  std::vector<Copier::Found> together, equal;
  const auto sources = sources_of({5, 17, 1, 9, 30, 12, 2, 24, 7, 13});
  const Report different = report_of(copier, sources, together);
  const Report same = report_of(copier, sources_of(std::vector<unsigned>(10, 9)), equal);
  ASSERT_EQ(different.waves.size(), kLength);
  ASSERT_EQ(same.waves.size(), kLength);
  for (std::size_t wave = 0; wave < kLength; ++wave) {
    EXPECT_EQ(different.waves[wave].batches, same.waves[wave].batches) << wave;
  }
  for (std::size_t i = 0; i < sources.size(); ++i) {
    ComputationGraph graph;
    const Copier::Found alone = copier.decode(graph, sources[i]);
    EXPECT_EQ(together[i].actions, alone.actions);
    EXPECT_EQ(together[i].sum, alone.sum);
  }
}

}  // namespace
}  // namespace dynet_like::nn

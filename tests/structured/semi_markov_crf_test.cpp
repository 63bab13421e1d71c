// SemiMarkovCRF: against all segmentations one by one, marginals, gradients, batches, errors.
#include "nn/structured/semi_markov_crf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/structured/linear_chain_crf.h"
#include "tests/support/message_of.h"
#include "tests/support/structured.h"

namespace dynet_like::nn {
namespace {

using Segments = std::vector<LabelledSpan>;

/// All segmentations of the words from `start` on.
std::vector<Segments> all_segmentations(unsigned start, unsigned words, unsigned labels,
                                        unsigned max_length) {
  if (start == words) return {{}};
  std::vector<Segments> all;
  for (unsigned end = start + 1; end <= std::min(words, start + max_length); ++end) {
    for (const Segments& rest : all_segmentations(end, words, labels, max_length)) {
      for (unsigned label = 0; label < labels; ++label) {
        all.push_back({{start, end, label}});
        all.back().insert(all.back().end(), rest.begin(), rest.end());
      }
    }
  }
  return all;
}

/// A CRF with drawn scores, and scores of segments that are parameters {labels, n - l + 1}.
struct Fixture {
  Fixture(unsigned words, unsigned labels, unsigned max_length, DType dtype = DType::f64)
      : model(1, dtype), crf(model, labels, {.max_length = max_length}) {
    for (unsigned length = 1; length <= std::min(words, max_length); ++length) {
      lengths.push_back(model.add_parameters({labels, words - length + 1}));
    }
    randomise(model, 4 + words);
  }

  std::vector<Expression> scores(ComputationGraph& graph, unsigned words) const {
    std::vector<Expression> result;
    for (unsigned length = 1; length <= std::min(words, crf.max_length()); ++length) {
      const unsigned count = words - length + 1;
      const Expression all = own_copy(graph, lengths[length - 1]);
      result.push_back(reshape(pick_range(all, 0, count, 1), Dim({crf.labels()}, count)));
    }
    return result;
  }

  double score(const Segments& segments) const {
    const std::size_t n = crf.labels();
    const Doubles transitions = numbers(model, "/semi_markov_crf/transitions");
    double sum = numbers(model, "/semi_markov_crf/start")[segments.front().label];
    sum += numbers(model, "/semi_markov_crf/end")[segments.back().label];
    for (std::size_t i = 0; i < segments.size(); ++i) {
      const auto& [start, end, label] = segments[i];
      sum += lengths[end - start - 1].values().at(label + n * start);
      if (i > 0) sum += transitions[segments[i - 1].label + n * label];
    }
    return sum;
  }

  ParameterCollection model;
  SemiMarkovCRF crf;
  std::vector<Parameter> lengths;
};

TEST(SemiMarkovCRFTest, AgreesWithAllSegmentationsOneByOne) {
  for (const unsigned labels : {1u, 2u, 3u}) {
    for (const unsigned max_length : {1u, 2u, 3u, 9u}) {
      for (unsigned words = 1; words <= (labels == 3 ? 4u : 6u); ++words) {
        const Fixture fixture(words, labels, max_length);
        const auto all = all_segmentations(0, words, labels, max_length);
        LogSum partition;
        double largest = -1e9;
        Segments best;
        for (const Segments& segments : all) {
          const double score = fixture.score(segments);
          partition.add(score);
          if (score > largest) best = segments;
          largest = std::max(largest, score);
        }
        ComputationGraph graph(double_options());
        const std::vector<Expression> scores = fixture.scores(graph, words);
        const Expression log_partition = fixture.crf.log_partition(scores);
        EXPECT_EQ(log_partition.dim(), Dim({1}));
        EXPECT_NEAR(log_partition.value().at(0), partition.value(), 1e-12);
        EXPECT_NEAR(fixture.crf.loss(scores, best).value().at(0), partition.value() - largest,
                    1e-12);
        EXPECT_EQ(fixture.crf.best(scores), best);
        for (std::size_t i = 0; i < all.size(); i += 1 + all.size() / 20) {
          EXPECT_NEAR(fixture.crf.score(scores, all[i]).value().at(0), fixture.score(all[i]),
                      1e-12);
        }
        graph.backward(log_partition, true);
        std::map<std::vector<unsigned>, double> expected;
        for (const Segments& segments : all) {
          const double p = std::exp(fixture.score(segments) - partition.value());
          for (const auto& [start, end, label] : segments) expected[{start, end, label}] += p;
        }
        for (unsigned length = 1; length <= scores.size(); ++length) {
          const Tensor marginals = scores[length - 1].gradient();
          for (unsigned i = 0; i < marginals.d.size(); ++i) {
            const unsigned start = i / labels;
            EXPECT_NEAR(marginals.at(i), (expected[{start, start + length, i % labels}]), 1e-9);
          }
        }
      }
    }
  }
}

// With segments of one word it is the CRF over a chain.
TEST(SemiMarkovCRFTest, OfSingleWordsIsTheLinearChain) {
  const Fixture fixture(5, 3, 1);
  ParameterCollection model(1, DType::f64);
  const LinearChainCRF chain(model, 3);
  for (const char* name : {"/transitions", "/start", "/end"}) {
    const Tensor to = Parameter(model.find(std::string("/crf") + name)).values();
    const Doubles from = numbers(fixture.model, std::string("/semi_markov_crf") + name);
    for (std::size_t i = 0; i < from.size(); ++i) to.set(i, from[i]);
  }
  ComputationGraph graph(double_options());
  const std::vector<Expression> scores = fixture.scores(graph, 5);
  const Expression emissions = reshape(scores[0], {3, 5});
  EXPECT_NEAR(fixture.crf.log_partition(scores).value().at(0),
              chain.log_partition(emissions).value().at(0), 1e-12);
}

TEST(SemiMarkovCRFTest, OfEqualSegmentationsTheOneWithTheFirstLabelsAndShortSegments) {
  ParameterCollection model;
  const SemiMarkovCRF crf(model, 2, {.max_length = 2});
  ComputationGraph graph;
  const std::vector<Expression> zero = {zeros(graph, Dim({2}, 3)), zeros(graph, Dim({2}, 2))};
  EXPECT_EQ(crf.best(zero), (Segments{{0, 1, 0}, {1, 2, 0}, {2, 3, 0}}));
}

TEST(SemiMarkovCRFTest, GradientsAreThoseOfCentralDifferences) {
  const Fixture fixture(6, 2, 3);
  const Segments gold = {{0, 2, 1}, {2, 3, 0}, {3, 6, 1}};
  expect_loss_has_slopes(fixture.model, [&](ComputationGraph& graph) {
    return fixture.crf.loss(fixture.scores(graph, 6), gold);
  });
}

/// Words one by one.
Segments single_words(unsigned words) {
  Segments segments;
  for (unsigned i = 0; i < words; ++i) segments.push_back({i, i + 1, i % 3});
  return segments;
}

TEST(SemiMarkovCRFTest, BatchingChangesNoBit) {
  const Fixture fixture(9, 3, 4, DType::f32);
  expect_batching_changes_no_bit(fixture.model, 9, [&](ComputationGraph& graph, unsigned i) {
    return fixture.crf.loss(fixture.scores(graph, i + 1), single_words(i + 1));
  });
}

TEST(SemiMarkovCRFTest, SentencesOfAllLengthsShareBatches) {
  const Fixture fixture(36, 3, 6, DType::f32);
  expect_lengths_share_batches(1.25, [&](ComputationGraph& graph, unsigned words) {
    return fixture.crf.loss(fixture.scores(graph, words), single_words(words));
  });
}

TEST(SemiMarkovCRFTest, SentencesThatWaitForTheirSegmentsTakeOneWave) {
  const Fixture fixture(9, 3, 4, DType::f32);
  Minibatch batch;
  for_each_sample(batch, 9, [&](ComputationGraph& graph, std::size_t i) {
    const auto words = static_cast<unsigned>(i) + 1;
    ComputationGraph own;
    EXPECT_EQ(fixture.crf.best(fixture.scores(graph, words)),
              fixture.crf.best(fixture.scores(own, words)));
  });
  EXPECT_EQ(batch.explain().wave_count, 1u);
}

TEST(SemiMarkovCRFTest, LargeScoresDoNotOverflow) {
  ParameterCollection model;
  const SemiMarkovCRF crf(model, 2, {.max_length = 2});
  ComputationGraph graph;
  const std::vector<Expression> scores = {constant(graph, Dim({2}, 3), 1e4f),
                                          constant(graph, Dim({2}, 2), -1e4f)};
  EXPECT_NEAR(crf.log_partition(scores).value().at(0), 3e4 + std::log(8), 1e-2);
}

TEST(SemiMarkovCRFTest, ForbiddenSegmentsAreInNone) {
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  ParameterCollection model;
  const SemiMarkovCRF crf(model, 1, {.max_length = 2});
  ComputationGraph graph;
  const std::vector<Expression> scores = {input(graph, Dim({1}, 2), {0, kForbidden}),
                                          input(graph, -3.0f)};
  EXPECT_EQ(crf.best(scores), (Segments{{0, 2, 0}}));
  EXPECT_NEAR(crf.log_partition(scores).value().at(0), -3, 1e-6);
  EXPECT_THROW(crf.best(std::vector{input(graph, kForbidden)}), UsageError);
}

TEST(SemiMarkovCRFTest, ForbiddenTransitionsAreInNone) {
  ParameterCollection model;
  const SemiMarkovCRF crf(model, 2, {.max_length = 2});
  const Tensor transitions = Parameter(model.find("/semi_markov_crf/transitions")).values();
  for (const unsigned same : {0u, 3u}) {
    transitions.set(same, -std::numeric_limits<double>::infinity());
  }
  ComputationGraph graph;
  const std::vector<Expression> scores = {zeros(graph, Dim({2}, 2)), zeros(graph, {2})};
  // Both words with labels 0 1 or 1 0, or in one segment.
  EXPECT_NEAR(crf.loss(scores, Segments{{0, 2, 0}}).value().at(0), std::log(4), 1e-6);
  EXPECT_NEAR(crf.loss(scores, Segments{{0, 1, 0}, {1, 2, 1}}).value().at(0), std::log(4), 1e-6);
}

TEST(SemiMarkovCRFTest, Errors) {
  ParameterCollection model, other;
  EXPECT_THROW(SemiMarkovCRF(other, 0, {.max_length = 2}), ShapeError);
  EXPECT_THROW(SemiMarkovCRF(other, 2, {.max_length = 0}), UsageError);
  const SemiMarkovCRF crf(model, 2, {.max_length = 2});
  ComputationGraph graph;
  using Scores = std::vector<Expression>;
  const auto matrix = [&](unsigned labels, unsigned count) {
    return ones(graph, Dim({labels}, count));
  };
  const Scores good = {matrix(2, 3), matrix(2, 2)};
  EXPECT_THROW(crf.log_partition({}), UsageError);
  EXPECT_THROW(crf.best({}), UsageError);
  EXPECT_THROW(crf.log_partition(Scores{matrix(2, 3)}), ShapeError);
  EXPECT_THROW(crf.log_partition(Scores{matrix(2, 3), matrix(2, 2), matrix(2, 1)}), ShapeError);
  EXPECT_THROW(crf.log_partition(Scores{matrix(3, 3), matrix(3, 2)}), ShapeError);
  EXPECT_THROW(crf.log_partition(Scores{matrix(2, 3), matrix(3, 2)}), ShapeError);
  EXPECT_THROW(crf.best(Scores{matrix(2, 3), matrix(2, 3)}), ShapeError);
  EXPECT_NO_THROW(crf.loss(good, Segments{{0, 1, 0}, {1, 3, 1}}));
  for (const Segments& wrong :
       {Segments{}, Segments{{0, 1, 0}}, Segments{{0, 3, 0}}, Segments{{0, 1, 0}, {1, 3, 2}},
        Segments{{0, 1, 0}, {2, 3, 1}}, Segments{{0, 1, 0}, {1, 1, 1}, {1, 3, 0}},
        Segments{{0, 2, 0}, {2, 4, 1}}}) {
    EXPECT_THROW(crf.loss(good, wrong), UsageError);
  }
  EXPECT_EQ(message_of<UsageError>([&] {
              crf.score(good, Segments{{0, 2, 0}});
            }),
            "[SemiMarkovCRF] need segments of all 3 words; got those of 2");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(crf.best(Scores{constant(graph, {2}, nan)}), NumericError);
  Parameter(model.find("/semi_markov_crf/end")).values().set(1, static_cast<double>(nan));
  EXPECT_THROW(crf.best(good), NumericError);
}

}  // namespace
}  // namespace dynet_like::nn

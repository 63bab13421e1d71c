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

/// Words one by one.
Segments single_words(unsigned words) {
  Segments segments;
  for (unsigned i = 0; i < words; ++i) segments.push_back({i, i + 1, i % 3});
  return segments;
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

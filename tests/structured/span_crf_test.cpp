// The CRF over spans: against all labelled trees one by one, marginals, gradients, batches, errors.
#include "nn/structured/span_crf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "tests/support/message_of.h"
#include "tests/support/structured.h"

namespace dynet_like::nn {
namespace {

using Spans = std::vector<LabelledSpan>;

/// Scores that are parameters, one of {labels, n - w + 1} for each width w.
struct Fixture {
  Fixture(unsigned words, unsigned labels, DType dtype = DType::f64)
      : model(1, dtype), labels(labels) {
    for (unsigned width = 1; width <= words; ++width) {
      widths.push_back(model.add_parameters({labels, words - width + 1}));
    }
    randomise(model, 9 + words);
  }

  std::vector<Expression> scores(ComputationGraph& graph, unsigned words) const {
    std::vector<Expression> result;
    for (unsigned width = 1; width <= words; ++width) {
      const unsigned count = words - width + 1;
      const Expression all = own_copy(graph, widths[width - 1]);
      result.push_back(reshape(pick_range(all, 0, count, 1), Dim({labels}, count)));
    }
    return result;
  }

  double score(const Spans& tree) const {
    double sum = 0;
    for (const auto& [start, end, label] : tree) {
      sum += widths[end - start - 1].values().at(label + std::size_t{labels} * start);
    }
    return sum;
  }

  ParameterCollection model;
  unsigned labels;
  std::vector<Parameter> widths;
};

/// A tree whose left parts are words.
Spans right_branching(unsigned words) {
  Spans tree;
  for (unsigned start = 0; start < words; ++start) {
    tree.push_back({start, words, start % 3});
    if (start + 1 < words) tree.push_back({start, start + 1, 1});
  }
  return tree;
}

TEST(SpanCRFTest, SentencesOfAllLengthsShareBatches) {
  const Fixture fixture(36, 3, DType::f32);
  expect_lengths_share_batches(1.1, [&](ComputationGraph& graph, unsigned words) {
    return span_loss(fixture.scores(graph, words), right_branching(words));
  });
}

// However many widths a sentence has, it waits for all their scores at once.
TEST(SpanCRFTest, SentencesThatWaitForTheirTreesTakeOneWave) {
  const Fixture fixture(12, 2, DType::f32);
  std::vector<Spans> alone;
  for (unsigned words = 1; words <= 12; ++words) {
    ComputationGraph graph;
    alone.push_back(best_spans(fixture.scores(graph, words)));
  }
  Minibatch batch;
  const auto together = for_each_sample(batch, 12, [&](ComputationGraph& graph, std::size_t i) {
    return best_spans(fixture.scores(graph, static_cast<unsigned>(i) + 1));
  });
  EXPECT_EQ(together, alone);
  EXPECT_EQ(batch.explain().wave_count, 1u);
}

TEST(SpanCRFTest, LargeScoresDoNotOverflow) {
  ComputationGraph graph;
  const std::vector<Expression> scores = {constant(graph, Dim({2}, 3), 1e4f),
                                          constant(graph, Dim({2}, 2), -1e4f),
                                          constant(graph, Dim({2}), 1e4f)};
  EXPECT_NEAR(span_log_partition(scores).value().at(0), 3e4 + std::log(2 * 32), 1e-2);
}

TEST(SpanCRFTest, Errors) {
  ComputationGraph graph;
  const auto matrix = [&](unsigned labels, unsigned count) {
    return ones(graph, Dim({labels}, count));
  };
  using Scores = std::vector<Expression>;
  const Scores good = {matrix(2, 2), matrix(2, 1)};
  EXPECT_THROW(span_log_partition({}), UsageError);
  EXPECT_THROW(best_spans({}), UsageError);
  EXPECT_THROW(span_log_partition(Scores{matrix(2, 2)}), ShapeError);
  EXPECT_THROW(span_log_partition(Scores{matrix(2, 2), matrix(3, 1)}), ShapeError);
  EXPECT_THROW(span_log_partition(Scores{matrix(2, 2), matrix(2, 2)}), ShapeError);
  EXPECT_EQ(message_of<ShapeError>([&] {
              span_loss(Scores{ones(graph, {2, 3}), ones(graph, {2, 2}), ones(graph, {2})}, {});
            }),
            "[span_loss] need a vector of scores for each span, a minibatch element, {2X3}; "
            "got {2,3}: reshape(x, Dim({2}, 3)) makes them of columns");
  EXPECT_THROW(best_spans(Scores{matrix(2, 2), matrix(2, 1), matrix(2, 1)}), ShapeError);
  EXPECT_NO_THROW(span_loss(good, Spans{{0, 1, 0}, {0, 2, 1}, {1, 2, 0}}));
  EXPECT_THROW(span_loss(good, Spans{{0, 1, 0}, {0, 2, 2}, {1, 2, 0}}), UsageError);
  EXPECT_THROW(span_loss(good, Spans{{0, 1, 0}, {0, 2, 1}}), UsageError);
  EXPECT_THROW(span_loss(good, Spans{{0, 1, 0}, {0, 1, 1}, {1, 2, 0}}), UsageError);
  EXPECT_THROW(span_loss(good, Spans{{0, 2, 0}, {1, 2, 1}, {1, 2, 0}}), UsageError);
  EXPECT_THROW(span_loss(good, Spans{{0, 3, 0}, {0, 2, 1}, {1, 2, 0}}), UsageError);
  EXPECT_EQ(message_of<UsageError>([&] {
              span_loss(good, Spans{{0, 2, 0}});
            }),
            "[span_score] need the 3 spans of a binary tree over 2 words; got 1 span, 0 to 2");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(best_spans(Scores{input(graph, nan)}), NumericError);
  EXPECT_THROW(best_spans(Scores{input(graph, std::numeric_limits<float>::infinity())}),
               NumericError);
}

}  // namespace
}  // namespace dynet_like::nn

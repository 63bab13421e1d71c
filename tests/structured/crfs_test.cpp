// CRFs of tags, segments and spans of trees: rare tags, batches, waves, large scores, errors; and
// the ranges of minibatches that they read. edges_test.cpp compares them with all structures.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/structured.h"

namespace dynet_like::nn {
namespace {

using Spans = std::vector<LabelledSpan>;
using Scores = std::vector<Expression>;

/// Expects that sentences of 1, 2, ... words find what they find alone, in one wave.
template <class Best>
void expect_one_wave(unsigned longest, const Best& best) {
  Minibatch batch;
  const auto together =
      for_each_sample(batch, longest, [&](ComputationGraph& graph, std::size_t i) {
        return best(graph, static_cast<unsigned>(i) + 1);
      });
  for (unsigned words = 1; words <= longest; ++words) {
    ComputationGraph graph;
    EXPECT_EQ(together[words - 1], best(graph, words));
  }
  EXPECT_EQ(batch.explain().wave_count, 1u);
}

// ------------------------------------------------------------------------------------ segments

/// Words one by one.
Spans single_words(unsigned words) {
  Spans segments;
  for (unsigned i = 0; i < words; ++i) segments.push_back({i, i + 1, i % 3});
  return segments;
}

TEST(SemiMarkovCRFTest, SentencesOfAllLengthsShareBatches) {
  SpanScores scores(36, 3, 6, DType::f32);
  const SemiMarkovCRF crf(scores.model, 3, {.max_length = 6});
  expect_lengths_share_batches(1.25, [&](ComputationGraph& graph, unsigned words) {
    return crf.loss(scores(graph, words), single_words(words));
  });
}

TEST(SemiMarkovCRFTest, SentencesThatWaitForTheirSegmentsTakeOneWave) {
  SpanScores scores(9, 3, 4, DType::f32);
  const SemiMarkovCRF crf(scores.model, 3, {.max_length = 4});
  expect_one_wave(
      9, [&](ComputationGraph& graph, unsigned words) { return crf.best(scores(graph, words)); });
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
  EXPECT_NO_THROW(crf.loss(good, Spans{{0, 1, 0}, {1, 3, 1}}));
  for (const Spans& wrong : {Spans{}, Spans{{0, 1, 0}}, Spans{{0, 3, 0}},
                             Spans{{0, 1, 0}, {1, 3, 2}}, Spans{{0, 1, 0}, {2, 3, 1}},
                             Spans{{0, 1, 0}, {1, 1, 1}, {1, 3, 0}}, Spans{{0, 2, 0}, {2, 4, 1}}}) {
    EXPECT_THROW(crf.loss(good, wrong), UsageError);
  }
  EXPECT_EQ(message_of<UsageError>([&] {
              crf.score(good, Spans{{0, 2, 0}});
            }),
            "[SemiMarkovCRF] need segments of all 3 words; got those of 2");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW(crf.best(Scores{constant(graph, {2}, nan)}), NumericError);
  Parameter(model.find("/semi_markov_crf/end")).values().set(1, static_cast<double>(nan));
  EXPECT_THROW(crf.best(good), NumericError);
}

// --------------------------------------------------------------------------------------- trees

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
  const SpanScores scores(36, 3, 36, DType::f32);
  expect_lengths_share_batches(1.1, [&](ComputationGraph& graph, unsigned words) {
    return span_loss(scores(graph, words), right_branching(words));
  });
}

// However many widths a sentence has, it waits for all their scores at once.
TEST(SpanCRFTest, SentencesThatWaitForTheirTreesTakeOneWave) {
  const SpanScores scores(12, 2, 12, DType::f32);
  expect_one_wave(12, [&](ComputationGraph& graph, unsigned words) {
    return best_spans(scores(graph, words));
  });
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

using Tags = std::vector<unsigned>;

TEST(LinearChainCRFTest, LargeScoresDoNotOverflow) {
  ParameterCollection model;
  const LinearChainCRF crf(model, 2);
  ComputationGraph graph;
  const Expression emissions = constant(graph, {2, 3}, 1e4f);
  EXPECT_NEAR(crf.log_partition(emissions).value().at(0), 3e4 + std::log(8), 1e-2);
}

// Only what is nearly impossible can go on to the end.
TEST(LinearChainCRFTest, RareTagsThatMustFollowAreNotLost) {
  constexpr double kForbidden = -std::numeric_limits<double>::infinity();
  ParameterCollection model;
  const LinearChainCRF crf(model, 2);
  const Parameter transitions(model.find("/crf/transitions")), start(model.find("/crf/start")),
      end(model.find("/crf/end"));
  transitions.values().set(1, kForbidden);  // from 1 to 0
  transitions.values().set(2, kForbidden);  // from 0 to 1
  start.values().set(1, -200);
  end.values().set(0, kForbidden);
  ComputationGraph graph;
  const Expression emissions =
      parameter(graph, model.add_parameters({2, 4}, ParameterInitConst(0)));
  const Expression log_partition = crf.log_partition(emissions);
  EXPECT_EQ(log_partition.value().at(0), -200);
  const Gradients& gradients = graph.backward(log_partition, true);
  EXPECT_EQ(as_vector(emissions.gradient()), (std::vector<float>{0, 1, 0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(gradients.values(transitions), (std::vector<float>{0, 0, 0, 3}));
  EXPECT_EQ(gradients.values(start), (std::vector<float>{0, 1}));
}

TEST(LinearChainCRFTest, GradientsWhereTagsAreRareAreThoseOfCentralDifferences) {
  ParameterCollection model(1, DType::f64);
  const LinearChainCRF crf(model, 5);
  // Differences of up to 160 between tags: most sums underflow next to the largest.
  Random random(3);
  for (const auto& storage : model.storages()) {
    for (std::size_t i = 0; i < storage->size(); ++i) {
      storage->tensor().set(i, 160 * random.uniform() - 80);
    }
    storage->values_written();
  }
  const std::vector<int> known = {-1, 3, -1, -1, 0, -1};
  expect_gradients(model, [&](ComputationGraph& graph) {
    const Expression emissions = drawn_matrix(graph, 5, 6, 1);
    return crf.log_partition(emissions) + crf.log_partition(emissions, known);
  });
}

TEST(LinearChainCRFTest, SentencesOfAllLengthsShareBatches) {
  ParameterCollection model;
  const LinearChainCRF crf(model, 4);
  expect_lengths_share_batches(1.25, [&](ComputationGraph& graph, unsigned words) {
    return crf.loss(drawn_matrix(graph, 4, words, 1), Tags(words, 2));
  });
}

TEST(LinearChainCRFTest, Errors) {
  ParameterCollection model;
  const LinearChainCRF crf(model, 3);
  ComputationGraph graph;
  const Expression good = ones(graph, {3, 2}), wrong = ones(graph, {4, 2}),
                   batched = ones(graph, Dim({3}, 2));
  const Tags two = {0, 2}, one = {1}, unknown = {0, 3};
  EXPECT_THROW(LinearChainCRF(model, 0), ShapeError);
  EXPECT_THROW(crf.log_partition(wrong), ShapeError);
  EXPECT_THROW(crf.best(batched), ShapeError);
  EXPECT_THROW(crf.loss(good, one), UsageError);
  EXPECT_THROW(crf.score(good, unknown), UsageError);
  EXPECT_THROW(crf.log_partition(good, {1}), UsageError);
  EXPECT_THROW(crf.log_partition(good, {-1, 3}), UsageError);
  EXPECT_NO_THROW(crf.loss(good, two));
}

TEST(MinibatchRangeTest, IsAViewOfItsElements) {
  ComputationGraph graph;
  const Expression x = input(graph, Dim({1, 2}, 4), {0, 1, 2, 3, 4, 5, 6, 7});
  const std::size_t nodes = graph.size();
  const Expression middle = minibatch_range(x, 1, 2);
  EXPECT_EQ(middle.dim(), Dim({1, 2}, 2));
  EXPECT_EQ(as_vector(middle.value()), (std::vector<float>{2, 3, 4, 5}));
  EXPECT_EQ(as_vector(minibatch_range(middle, 1, 1).value()), (std::vector<float>{4, 5}));
  EXPECT_EQ(as_vector(minibatch_range(x, 0, 4).value()), as_vector(x.value()));
  EXPECT_EQ(graph.size(), nodes);
  graph.backward(dot_product(sum_batches(middle), input(graph, {1, 2}, std::vector<float>{3, 5})),
                 true);
  EXPECT_EQ(as_vector(x.gradient()), (std::vector<float>{0, 0, 3, 5, 3, 5, 0, 0}));
}

TEST(MinibatchRangeTest, Errors) {
  ComputationGraph graph;
  const Expression x = zeros(graph, Dim({2}, 4));
  EXPECT_THROW(minibatch_range(x, 1, 4), UsageError);
  EXPECT_THROW(minibatch_range(x, 4, 1), UsageError);
  EXPECT_THROW(minibatch_range(x, 0, 0), UsageError);
  EXPECT_THROW(minibatch_range(x, 1, 5), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn

// LinearChainCRF: rare tags, large scores, batches, errors. edges_test.cpp compares it with all
// sequences.
#include "nn/structured/linear_chain_crf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "tests/support/structured.h"

namespace dynet_like::nn {
namespace {

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

TEST(LinearChainCRFTest, WhereNothingIsPossibleNothingHasAGradient) {
  ParameterCollection model;
  const LinearChainCRF crf(model, 2);
  const Parameter end(model.find("/crf/end"));
  for (const std::size_t tag : {0u, 1u}) {
    end.values().set(tag, -std::numeric_limits<double>::infinity());
  }
  ComputationGraph graph;
  const Expression emissions =
      parameter(graph, model.add_parameters({2, 3}, ParameterInitConst(0)));
  const Expression log_partition = crf.log_partition(emissions);
  EXPECT_EQ(log_partition.value().at(0), -std::numeric_limits<double>::infinity());
  graph.backward(log_partition, true);
  EXPECT_EQ(as_vector(emissions.gradient()), std::vector<float>(6, 0));
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

}  // namespace
}  // namespace dynet_like::nn

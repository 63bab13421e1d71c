// LinearChainCRF: against all sequences of tags one by one, gradients, batches, errors.
#include "nn/structured/linear_chain_crf.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/embedding.h"
#include "tests/support/layers.h"

namespace dynet_like::nn {
namespace {

using Tags = std::vector<unsigned>;

/// A CRF with drawn scores and the emissions of sentences, which are rows of a table.
struct Fixture {
  explicit Fixture(unsigned tags, DType dtype = DType::f64)
      : model(1, dtype), crf(model, tags), table(model, 8, tags) {
    randomise(model, 5);
  }

  std::vector<Expression> emissions(ComputationGraph& graph, unsigned length,
                                    unsigned first = 0) const {
    std::vector<Expression> result;
    for (unsigned i = 0; i < length; ++i) result.push_back(table(graph, (first + i) % 8));
    return result;
  }

  /// The score by its formula.
  double score(const Tags& tags) const {
    const Doubles transitions = numbers(model, "/crf/transitions");
    double result = numbers(model, "/crf/start")[tags.front()];
    result += numbers(model, "/crf/end")[tags.back()];
    for (unsigned t = 0; t < tags.size(); ++t) {
      result += row(table.table(), t)[tags[t]];
      if (t > 0) result += transitions[tags[t - 1] + crf.tags() * tags[t]];
    }
    return result;
  }

  ParameterCollection model;
  LinearChainCRF crf;
  Embedding table;
};

/// All sequences of `length` out of n tags.
std::vector<Tags> all_sequences(unsigned n, unsigned length) {
  std::vector<Tags> sequences = {{}};
  for (unsigned t = 0; t < length; ++t) {
    std::vector<Tags> longer;
    for (const Tags& tags : sequences) {
      for (unsigned tag = 0; tag < n; ++tag) {
        longer.push_back(tags);
        longer.back().push_back(tag);
      }
    }
    sequences = std::move(longer);
  }
  return sequences;
}

/// The tags that `best` found; every output must be a 1 among zeros.
Tags tags_of(const std::vector<Expression>& best) {
  Tags tags;
  for (const Expression& one_hot : best) {
    const Doubles values = as_doubles(one_hot.value());
    EXPECT_EQ(std::count(values.begin(), values.end(), 1.0), 1);
    EXPECT_EQ(std::count(values.begin(), values.end(), 0.0), static_cast<long>(values.size()) - 1);
    const auto one = std::find(values.begin(), values.end(), 1.0);
    tags.push_back(static_cast<unsigned>(one - values.begin()));
  }
  return tags;
}

TEST(LinearChainCRFTest, AgreesWithAllSequencesOneByOne) {
  struct Size {
    unsigned tags, length;
  };
  for (const auto [n, length] :
       {Size{1, 1}, Size{1, 4}, Size{2, 6}, Size{3, 1}, Size{3, 2}, Size{4, 5}, Size{5, 3}}) {
    const Fixture fixture(n);
    double sum = 0, largest = -1e9;
    Tags best;
    for (const Tags& tags : all_sequences(n, length)) {
      const double score = fixture.score(tags);
      sum += std::exp(score);
      if (score > largest) best = tags;
      largest = std::max(largest, score);
    }
    ComputationGraph graph(double_options());
    const std::vector<Expression> emissions = fixture.emissions(graph, length);
    EXPECT_NEAR(fixture.crf.log_partition(emissions).value().at(0), std::log(sum), 1e-12);
    EXPECT_NEAR(fixture.crf.score(emissions, best).value().at(0), largest, 1e-12);
    EXPECT_NEAR(fixture.crf.loss(emissions, best).value().at(0), std::log(sum) - largest, 1e-12);
    EXPECT_EQ(tags_of(fixture.crf.best(emissions)), best) << n << ' ' << length;
  }
}

TEST(LinearChainCRFTest, ScoresOfAllSequences) {
  const Fixture fixture(3);
  ComputationGraph graph(double_options());
  const std::vector<Expression> emissions = fixture.emissions(graph, 4);
  for (const Tags& tags : all_sequences(3, 4)) {
    const Expression score = fixture.crf.score(emissions, tags);
    EXPECT_EQ(score.dim(), Dim({1}));
    EXPECT_NEAR(score.value().at(0), fixture.score(tags), 1e-12);
  }
}

TEST(LinearChainCRFTest, OfEqualSequencesTheOneWithTheFirstTags) {
  ParameterCollection model;
  const LinearChainCRF crf(model, 3);  // all scores are 0
  ComputationGraph graph;
  const std::vector<Expression> emissions(4, zeros(graph, {3}));
  EXPECT_EQ(tags_of(crf.best(emissions)), (Tags{0, 0, 0, 0}));
}

TEST(LinearChainCRFTest, LargeScoresDoNotOverflow) {
  ParameterCollection model;
  const LinearChainCRF crf(model, 2);
  ComputationGraph graph;
  const std::vector<Expression> emissions(3, constant(graph, {2}, 1e4f));
  EXPECT_NEAR(crf.log_partition(emissions).value().at(0), 3e4 + std::log(8), 1e-2);
}

TEST(LinearChainCRFTest, ForbiddenTagsAreInNoSequence) {
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  ParameterCollection model;
  const LinearChainCRF crf(model, 2);
  ComputationGraph graph;
  const Expression free = zeros(graph, {2}), forbidden = input(graph, {2}, {kForbidden, 0});
  const std::vector<Expression> emissions = {free, forbidden, free};
  EXPECT_EQ(tags_of(crf.best(emissions)), (Tags{0, 1, 0}));
  const Expression log_partition = crf.log_partition(emissions);
  EXPECT_NEAR(log_partition.value().at(0), std::log(4), 1e-6);
  graph.backward(log_partition, true);
  EXPECT_EQ(as_vector(forbidden.gradient()), (std::vector<float>{0, 1}));
}

TEST(LinearChainCRFTest, ForbiddenTransitionsAreInNoSequence) {
  constexpr double kForbidden = -std::numeric_limits<double>::infinity();
  ParameterCollection model;
  const LinearChainCRF crf(model, 2);
  const Parameter transitions(model.find("/crf/transitions")), start(model.find("/crf/start"));
  transitions.values().set(1, kForbidden);  // from 1 to 0
  start.values().set(1, kForbidden);
  ComputationGraph graph;
  const std::vector<Expression> emissions(3, zeros(graph, {2}));
  // 0 0 0, 0 0 1 and 0 1 1.
  const Expression loss = crf.loss(emissions, Tags{0, 1, 1});
  EXPECT_NEAR(loss.value().at(0), std::log(3), 1e-6);
  EXPECT_EQ(tags_of(crf.best(emissions)), (Tags{0, 0, 0}));
  const std::vector<float> gradient = graph.backward(loss).values(transitions);
  EXPECT_EQ(gradient[1], 0);
  EXPECT_NEAR(gradient[3], 1 / 3.0 - 1, 1e-6);
}

TEST(LinearChainCRFTest, GradientsAreThoseOfCentralDifferences) {
  for (const unsigned length : {1u, 2u, 5u}) {
    const Fixture fixture(3);
    const Tags gold = {2, 0, 2, 0, 1};  // one transition comes twice
    const auto loss_in = [&](ComputationGraph& graph) {
      return fixture.crf.loss(fixture.emissions(graph, length), std::span(gold).first(length));
    };
    ComputationGraph graph(double_options());
    Gradients gradients;
    graph.backward(loss_in(graph), gradients);
    const auto loss = [&] {
      ComputationGraph again(double_options());
      return loss_in(again).value().at(0);
    };
    if (length > 1) expect_slopes(fixture.model, gradients, loss);
    // By emissions: the table's rows.
    for (unsigned row = 0; row < length; ++row) {
      const std::vector<float> gradient = gradients.values(fixture.table.table(), row);
      for (unsigned tag = 0; tag < 3; ++tag) {
        const Tensor values = fixture.table.table().values(row);
        const double before = values.at(tag);
        values.set(tag, before + 1e-5);
        const double above = loss();
        values.set(tag, before - 1e-5);
        const double below = loss();
        values.set(tag, before);
        EXPECT_NEAR(gradient[tag], (above - below) / 2e-5, 1e-6) << row << ' ' << tag;
      }
    }
  }
}

/// Losses, best sequences and gradients of sentences of several lengths, as numbers.
std::vector<float> outcome(const Fixture& fixture, batching::Policy policy, unsigned threads,
                           Report* report = nullptr) {
  GraphOptions options;
  options.policy = policy;
  options.threads = threads;
  Minibatch minibatch(options);
  std::vector<Expression> outputs;
  for (unsigned i = 0; i < 12; ++i) {
    ComputationGraph& graph = minibatch.new_graph();
    const unsigned length = 1 + i % 6;
    const std::vector<Expression> emissions = fixture.emissions(graph, length, i);
    Tags gold;
    for (unsigned t = 0; t < length; ++t) gold.push_back((i + t * t) % 4);
    outputs.push_back(fixture.crf.loss(emissions, gold));
    minibatch.add_loss(outputs.back());
    for (const Expression& tag : fixture.crf.best(emissions)) {
      minibatch.add_output(tag);
      outputs.push_back(tag);
    }
  }
  std::vector<float> all = {minibatch.forward()};
  const Gradients& gradients = minibatch.backward();
  const auto append = [&](const std::vector<float>& values) {
    all.insert(all.end(), values.begin(), values.end());
  };
  for (const Expression& output : outputs) append(as_vector(output.value()));
  for (const auto& storage : fixture.model.storages()) {
    if (!storage->is_table) append(gradients.values(Parameter(storage)));
  }
  for (unsigned row = 0; row < 8; ++row) append(gradients.values(fixture.table.table(), row));
  if (report != nullptr) *report = minibatch.explain();
  return all;
}

TEST(LinearChainCRFTest, BatchingChangesNoBit) {
  const Fixture fixture(4, DType::f32);
  using batching::Policy;
  const std::vector<float> expected = outcome(fixture, Policy::none, 1);
  for (const Policy policy : {Policy::automatic, Policy::depth, Policy::agenda, Policy::descent}) {
    for (const unsigned threads : {1u, 2u}) {
      EXPECT_EQ(outcome(fixture, policy, threads), expected)
          << batching::name_of(policy) << ", " << threads << " threads";
    }
  }
}

TEST(LinearChainCRFTest, SentencesOfAllLengthsBatch) {
  const Fixture fixture(4, DType::f32);
  Report report;
  outcome(fixture, batching::Policy::automatic, 1, &report);
  // About ten kinds of nodes at each of six positions, not one per sentence and position.
  EXPECT_GT(report.nodes, 4 * report.batches);
  EXPECT_LE(report.batches, report.bound + report.bound / 10);
}

TEST(LinearChainCRFTest, LearnsWhatFollowsWhat) {
  // Emissions say nothing: only transitions tell that tags go 0, 1, 2, 0, 1, 2, ...
  ParameterCollection model;
  const LinearChainCRF crf(model, 3);
  AdamTrainer trainer(model, 0.1f);
  const Tags gold = {0, 1, 2, 0, 1, 2, 0};
  for (int step = 0; step < 100; ++step) {
    ComputationGraph graph;
    const std::vector<Expression> emissions(gold.size(), zeros(graph, {3}));
    trainer.update(graph.backward(crf.loss(emissions, gold)));
  }
  ComputationGraph graph;
  const std::vector<Expression> emissions(gold.size(), zeros(graph, {3}));
  EXPECT_EQ(tags_of(crf.best(emissions)), gold);
  EXPECT_LT(crf.loss(emissions, gold).value().at(0), 0.5);
}

TEST(LinearChainCRFTest, Errors) {
  ParameterCollection model;
  const LinearChainCRF crf(model, 3);
  ComputationGraph graph;
  const std::vector<Expression> good(2, ones(graph, {3})), wrong = {good[0], ones(graph, {4})},
                                                           matrix = {ones(graph, {3, 2})};
  const Tags two = {0, 2}, one = {1}, unknown = {0, 3};
  EXPECT_THROW(LinearChainCRF(model, 0), ShapeError);
  EXPECT_THROW(crf.log_partition({}), UsageError);
  EXPECT_THROW(crf.best({}), UsageError);
  EXPECT_THROW(crf.loss({}, {}), UsageError);
  EXPECT_THROW(crf.log_partition(wrong), ShapeError);
  EXPECT_THROW(crf.best(matrix), ShapeError);
  EXPECT_THROW(crf.loss(good, one), UsageError);
  EXPECT_THROW(crf.score(good, unknown), UsageError);
  EXPECT_NO_THROW(crf.loss(good, two));
}

}  // namespace
}  // namespace dynet_like::nn

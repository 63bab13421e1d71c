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

  Expression emissions(ComputationGraph& graph, unsigned length, unsigned first = 0) const {
    std::vector<unsigned> rows;
    for (unsigned i = 0; i < length; ++i) rows.push_back((first + i) % 8);
    return table.columns(graph, rows);
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

/// The tags that `best` found; every column must be a 1 among zeros.
Tags tags_of(const Expression& best) {
  const Doubles values = as_doubles(best.value());
  const unsigned n = best.dim().rows();
  Tags tags;
  for (auto column = values.begin(); column != values.end(); column += n) {
    EXPECT_EQ(std::count(column, column + n, 1.0), 1);
    EXPECT_EQ(std::count(column, column + n, 0.0), n - 1);
    tags.push_back(static_cast<unsigned>(std::find(column, column + n, 1.0) - column));
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
    const Expression emissions = fixture.emissions(graph, length);
    EXPECT_NEAR(fixture.crf.log_partition(emissions).value().at(0), std::log(sum), 1e-12);
    EXPECT_NEAR(fixture.crf.score(emissions, best).value().at(0), largest, 1e-12);
    EXPECT_NEAR(fixture.crf.loss(emissions, best).value().at(0), std::log(sum) - largest, 1e-12);
    EXPECT_EQ(tags_of(fixture.crf.best(emissions)), best) << n << ' ' << length;
  }
}

TEST(LinearChainCRFTest, ScoresOfAllSequences) {
  const Fixture fixture(3);
  ComputationGraph graph(double_options());
  const Expression emissions = fixture.emissions(graph, 4);
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
  const Expression emissions = zeros(graph, {3, 4});
  EXPECT_EQ(tags_of(crf.best(emissions)), (Tags{0, 0, 0, 0}));
}

TEST(LinearChainCRFTest, LargeScoresDoNotOverflow) {
  ParameterCollection model;
  const LinearChainCRF crf(model, 2);
  ComputationGraph graph;
  const Expression emissions = constant(graph, {2, 3}, 1e4f);
  EXPECT_NEAR(crf.log_partition(emissions).value().at(0), 3e4 + std::log(8), 1e-2);
}

TEST(LinearChainCRFTest, ForbiddenTagsAreInNoSequence) {
  constexpr float kForbidden = -std::numeric_limits<float>::infinity();
  ParameterCollection model;
  const LinearChainCRF crf(model, 2);
  ComputationGraph graph;
  const Expression emissions = input(graph, {2, 3}, {0, 0, kForbidden, 0, 0, 0});
  EXPECT_EQ(tags_of(crf.best(emissions)), (Tags{0, 1, 0}));
  const Expression log_partition = crf.log_partition(emissions);
  EXPECT_NEAR(log_partition.value().at(0), std::log(4), 1e-6);
  graph.backward(log_partition, true);
  EXPECT_EQ(as_vector(pick(emissions, 1u, 1).gradient()), (std::vector<float>{0, 1}));
}

TEST(LinearChainCRFTest, ForbiddenTransitionsAreInNoSequence) {
  constexpr double kForbidden = -std::numeric_limits<double>::infinity();
  ParameterCollection model;
  const LinearChainCRF crf(model, 2);
  const Parameter transitions(model.find("/crf/transitions")), start(model.find("/crf/start"));
  transitions.values().set(1, kForbidden);  // from 1 to 0
  start.values().set(1, kForbidden);
  ComputationGraph graph;
  const Expression emissions = zeros(graph, {2, 3});
  // 0 0 0, 0 0 1 and 0 1 1.
  const Expression loss = crf.loss(emissions, Tags{0, 1, 1});
  EXPECT_NEAR(loss.value().at(0), std::log(3), 1e-6);
  EXPECT_EQ(tags_of(crf.best(emissions)), (Tags{0, 0, 0}));
  const std::vector<float> gradient = graph.backward(loss).values(transitions);
  EXPECT_EQ(gradient[1], 0);
  EXPECT_NEAR(gradient[3], 1 / 3.0 - 1, 1e-6);
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
  const Fixture fixture(5);
  Random random(3);
  // Differences of up to 160 between tags: most sums underflow next to the largest.
  for (const auto& storage : fixture.model.storages()) {
    if (storage->is_table) continue;
    const Tensor values = Parameter(storage).values();
    for (std::size_t i = 0; i < values.d.size(); ++i) values.set(i, 160 * random.uniform() - 80);
  }
  const std::vector<int> known = {-1, 3, -1, -1, 0, -1};
  const auto value_in = [&](ComputationGraph& graph) {
    const Expression emissions = fixture.emissions(graph, 6);
    return fixture.crf.log_partition(emissions) + fixture.crf.log_partition(emissions, known);
  };
  ComputationGraph graph(double_options());
  Gradients gradients;
  graph.backward(value_in(graph), gradients);
  expect_slopes(fixture.model, gradients, [&] {
    ComputationGraph again(double_options());
    return value_in(again).value().at(0);
  });
}

TEST(LinearChainCRFTest, OfSomeTagsAllSequencesThatHaveThem) {
  const Fixture fixture(3);
  for (const std::vector<int>& known :
       {std::vector<int>{-1, 2, -1, 0}, {1, -1, -1, -1}, {0, 1, -5, 2}, {2, 2, 2, 2}}) {
    double sum = 0;
    for (const Tags& tags : all_sequences(3, 4)) {
      bool fits = true;
      for (unsigned t = 0; t < 4; ++t) fits &= known[t] < 0 || tags[t] == unsigned(known[t]);
      if (fits) sum += std::exp(fixture.score(tags));
    }
    ComputationGraph graph(double_options());
    const Expression emissions = fixture.emissions(graph, 4);
    EXPECT_NEAR(fixture.crf.log_partition(emissions, known).value().at(0), std::log(sum), 1e-12);
  }
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
    const Expression emissions = fixture.emissions(graph, length, i);
    Tags gold;
    for (unsigned t = 0; t < length; ++t) gold.push_back((i + t * t) % 4);
    outputs.push_back(fixture.crf.loss(emissions, gold));
    minibatch.add_loss(outputs.back());
    outputs.push_back(fixture.crf.best(emissions));
    minibatch.add_output(outputs.back());
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
  // A sentence is some 14 nodes, whatever its length, and sentences of all lengths share batches.
  EXPECT_LE(report.nodes, 12 * 14u) << report;
  EXPECT_LE(report.batches, 26u) << report;
}

TEST(LinearChainCRFTest, LearnsWhatFollowsWhat) {
  // Emissions say nothing: only transitions tell that tags go 0, 1, 2, 0, 1, 2, ...
  ParameterCollection model;
  const LinearChainCRF crf(model, 3);
  AdamTrainer trainer(model, 0.1f);
  const Tags gold = {0, 1, 2, 0, 1, 2, 0};
  for (int step = 0; step < 100; ++step) {
    ComputationGraph graph;
    const Expression emissions = zeros(graph, {3, 7});
    trainer.update(graph.backward(crf.loss(emissions, gold)));
  }
  ComputationGraph graph;
  const Expression emissions = zeros(graph, {3, 7});
  EXPECT_EQ(tags_of(crf.best(emissions)), gold);
  EXPECT_LT(crf.loss(emissions, gold).value().at(0), 0.5);
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

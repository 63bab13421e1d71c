// Random graphs have the same bits under every policy, minibatch size and number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "dynet_like/tape/tape.h"
#include "tests/support/random_graph.h"
#include "tests/support/same_bits.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

using batching::Policy;

struct Outcome {
  std::vector<std::vector<float>> values, gradients;  // per sample, of all its expressions
  std::vector<float> parameters;
  float loss = 0;
  std::size_t nodes = 0, parts = 0;
};

/// `before` is called before a sample is recorded.
Outcome run(Minibatch& batch, const RandomModel& model, std::uint64_t seed, unsigned samples,
            const RandomGraphOptions& graph_options, bool only_totals = false,
            const std::function<void(unsigned)>& before = {}) {
  std::vector<RandomGraph> graphs;
  Outcome outcome;
  for (unsigned sample = 0; sample < samples; ++sample) {
    if (before) before(sample);
    ComputationGraph& graph = batch.new_graph();
    graphs.push_back(record_random_graph(graph, model, seed + sample, graph_options));
    batch.add_loss(graphs.back().loss);
    outcome.nodes += graph.size();
  }
  outcome.loss = batch.forward();
  outcome.parameters = model.all(batch.backward());
  outcome.parts = batch.parts();
  if (only_totals) return outcome;
  for (const RandomGraph& graph : graphs) {
    std::vector<float> values, gradients;
    for (const Expression& e : graph.all) {
      // What follows from parameters alone has one gradient for all samples.
      if (e.pg->record().tape().value(e.i).identity == 0) append(gradients, e.gradient());
    }
    for (const Expression& e : graph.all) append(values, e.value());
    outcome.values.push_back(values);
    outcome.gradients.push_back(gradients);
  }
  return outcome;
}

Outcome run(const RandomModel& model, std::uint64_t seed, unsigned samples,
            const RandomGraphOptions& graph_options, GraphOptions options,
            bool only_totals = false) {
  options.seed = 99;
  Minibatch batch(options);
  return run(batch, model, seed, samples, graph_options, only_totals);
}

void expect_same(const Outcome& a, const Outcome& b, std::size_t samples) {
  for (std::size_t sample = 0; sample < samples; ++sample) {
    ASSERT_TRUE(same(a.values[sample], b.values[sample])) << "values of sample " << sample;
    ASSERT_TRUE(same(a.gradients[sample], b.gradients[sample])) << "gradients of " << sample;
  }
}

// A few sizes, now and then one of 2,000 nodes.
RandomGraphOptions options_of_round(unsigned round) {
  RandomGraphOptions options;
  options.nodes = round % 24 == 23 ? 2000 : 20 + (round * 37) % 260;
  options.special_values = round % 3 == 2;
  return options;
}

constexpr unsigned kRounds = kSlowBuild ? 24 : 72, kSamples = 8;

class RandomGraphs : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomGraphs, HaveTheSameBits) {
  const RandomModel model;
  const unsigned round = GetParam();
  const std::uint64_t seed = 1000 * round;
  const RandomGraphOptions graphs = options_of_round(round);
  GraphOptions options;
  options.policy = Policy::none;
  const Outcome reference = run(model, seed, kSamples, graphs, options);
  for (Policy policy : {Policy::depth, Policy::agenda, Policy::descent, Policy::automatic}) {
    options.policy = policy;
    options.threads = 1 + (round + static_cast<unsigned>(policy)) % 4;
    const Outcome outcome = run(model, seed, kSamples, graphs, options);
    SCOPED_TRACE(std::string(batching::name_of(policy)) + ", " + std::to_string(options.threads) +
                 " threads");
    ASSERT_NO_FATAL_FAILURE(expect_same(reference, outcome, kSamples));
    ASSERT_TRUE(same(reference.parameters, outcome.parameters));
    ASSERT_TRUE(same({reference.loss}, {outcome.loss}));
  }
  options.threads = 1;
  for (unsigned samples : {1u, 3u}) {
    const Outcome outcome = run(model, seed, samples, graphs, options);
    ASSERT_NO_FATAL_FAILURE(expect_same(reference, outcome, samples));
  }
}

TEST_P(RandomGraphs, HaveTheSameBitsInParts) {
  const RandomModel model;
  const unsigned round = GetParam();
  const RandomGraphOptions graphs = options_of_round(round);
  GraphOptions options;
  const Outcome reference = run(model, 1000 * round, kSamples, graphs, options, true);
  options.memory_limit = 100 * graphs.nodes;
  const Outcome outcome = run(model, 1000 * round, kSamples, graphs, options, true);
  ASSERT_TRUE(same_sums(reference.parameters, outcome.parameters));
  ASSERT_TRUE(same({reference.loss}, {outcome.loss}));
  ASSERT_GT(outcome.parts, 1u);
}

INSTANTIATE_TEST_SUITE_P(Rounds, RandomGraphs, ::testing::Range(0u, kRounds));

TEST(RandomGraphs, AreMany) {
  static_assert(kSlowBuild || kRounds * kSamples >= 500);
  const RandomModel model;
  EXPECT_GE(run(model, 0, 1, options_of_round(23), {}, true).nodes, 2000u);
}

TEST(RandomGraphs, PassVerification) {
  const RandomModel model;
  for (unsigned round = 0; round < 6; ++round) {
    GraphOptions options;
    options.verify_batching = true;
    RandomGraphOptions graphs = options_of_round(round);
    graphs.special_values = false;
    EXPECT_NO_THROW(run(model, round, kSamples, graphs, options));
  }
}

// A minibatch that is kept has the bits of a new one, whatever is frozen, from run to run and from
// sample to sample; and what is frozen in all samples has no gradient.
TEST(RandomGraphs, ReadParametersAsTheyAreNow) {
  const RandomModel model;
  std::vector<std::shared_ptr<ParameterStorage>> storages{model.table4.p, model.table7.p};
  storages.insert(storages.begin(), model.parameters.size(), nullptr);
  std::ranges::transform(model.parameters, storages.begin(), &Parameter::p);
  Random random(5);
  for (unsigned threads = 1; threads <= 3; ++threads) {
    Minibatch kept({.threads = threads, .seed = 99});
    for (unsigned round = 0; round < kRounds / 2; ++round) {
      SCOPED_TRACE(round);
      const RandomGraphOptions graphs{.nodes = 20 + 10 * (round % 12), .dropout = false};
      std::vector<std::vector<bool>> frozen(kSamples);
      for (std::vector<bool>& of_sample : frozen) {
        for (std::size_t p = 0; p < storages.size(); ++p) of_sample.push_back(random.below(2) == 0);
        if (round % 2 == 0) of_sample = frozen[0];
      }
      const auto before = [&](unsigned sample) {
        for (std::size_t p = 0; p < storages.size(); ++p) storages[p]->frozen = frozen[sample][p];
      };
      kept.clear();
      Minibatch fresh;
      const Outcome got = run(kept, model, 1000 * round, kSamples, graphs, false, before),
                    want = run(fresh, model, 1000 * round, kSamples, graphs, false, before);
      ASSERT_NO_FATAL_FAILURE(expect_same(got, want, kSamples));
      ASSERT_TRUE(same(got.parameters, want.parameters));
      std::size_t first = 0;
      for (std::size_t p = 0; p < storages.size(); first += storages[p++]->size()) {
        if (!std::ranges::all_of(frozen, [&](const auto& of) { return of[p]; })) continue;
        const auto begin = got.parameters.begin() + static_cast<std::ptrdiff_t>(first);
        ASSERT_EQ(std::count(begin, begin + static_cast<std::ptrdiff_t>(storages[p]->size()), 0.0f),
                  static_cast<std::ptrdiff_t>(storages[p]->size()));
      }
    }
  }
}

// Two minibatches that add to the same gradients have the bits of one, where every parameter is
// used directly.
TEST(RandomGraphs, AccumulateToTheSameBits) {
  const RandomModel model;
  for (unsigned round = 0; round < 10; ++round) {
    RandomGraphOptions graphs = options_of_round(round);
    graphs.dropout = graphs.derived = false;
    const auto record = [&](Minibatch& batch, unsigned begin, unsigned end) {
      for (unsigned sample = begin; sample < end; ++sample) {
        batch.add_loss(
            record_random_graph(batch.new_graph(), model, 50 * round + sample, graphs).loss);
      }
      batch.forward();
    };
    Minibatch whole, first, second;
    Gradients together, accumulated;
    record(whole, 0, 6);
    whole.backward(together);
    record(first, 0, 2);
    first.backward(accumulated);
    record(second, 2, 6);
    second.backward(accumulated);
    EXPECT_TRUE(same_sums(model.all(together), model.all(accumulated)));
  }
}

}  // namespace
}  // namespace dynet_like::testing

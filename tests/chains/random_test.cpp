// Policies, threads, parts and inference change no bit: of values, gradients, and parameters'
// gradients.
#include <gtest/gtest.h>

#include "tests/support/random_chains.h"
#include "tests/support/same_bits.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

using batching::Policy;

struct Outcome {
  std::vector<std::vector<float>> values, gradients;  // per sample
  std::vector<float> parameters;
  float loss = 0;
};

// Three minibatches one after the other, which use the same memory.
Outcome run(const RandomModel& model, std::uint64_t program, GraphOptions options,
            bool only_totals = false, bool dropout = true) {
  constexpr unsigned kSamples = 8;
  options.seed = 99;
  Minibatch batch(options);
  Outcome outcome;
  for (unsigned round = 0; round < 3; ++round) {
    batch.clear();
    std::vector<RandomGraph> graphs;
    for (unsigned s = 0; s < kSamples; ++s) {
      RandomChainsOptions chains;
      chains.noise = program % 2 == 1;
      chains.dropout = dropout;
      chains.regular = program % 4 < 2;
      chains.steps = 1 + program % 3;
      graphs.push_back(record_random_chains(batch.new_graph(), model, program,
                                            1000 * program + 10 * round + s, chains));
      batch.add_loss(graphs.back().loss);
    }
    outcome.loss += batch.forward();
    if (options.inference) {
      for (const RandomGraph& graph : graphs) {
        outcome.values.emplace_back();
        for (const Expression& e : graph.all) append(outcome.values.back(), e.value());
      }
      continue;
    }
    const std::vector<float> parameters = model.all(batch.backward());
    outcome.parameters.insert(outcome.parameters.end(), parameters.begin(), parameters.end());
    if (only_totals) continue;
    for (const RandomGraph& graph : graphs) {
      outcome.gradients.emplace_back();
      outcome.values.emplace_back();
      for (const Expression& e : graph.all) {
        if (e.pg->record().tape().value(e.i).identity == 0)
          append(outcome.gradients.back(), e.gradient());
      }
      for (const Expression& e : graph.all) append(outcome.values.back(), e.value());
    }
  }
  return outcome;
}

void expect_same(const Outcome& a, const Outcome& b) {
  ASSERT_EQ(a.values.size(), b.values.size());
  for (std::size_t s = 0; s < a.values.size(); ++s) {
    ASSERT_TRUE(same(a.values[s], b.values[s])) << "values of sample " << s;
  }
  ASSERT_EQ(a.gradients.size(), b.gradients.size());
  for (std::size_t s = 0; s < a.gradients.size(); ++s) {
    ASSERT_TRUE(same(a.gradients[s], b.gradients[s])) << "gradients of sample " << s;
  }
  ASSERT_TRUE(same(a.parameters, b.parameters));
  ASSERT_TRUE(same({a.loss}, {b.loss}));
}

constexpr unsigned kPrograms = 60;

// All of them take minutes where they run slowly.
unsigned program_step() { return runs_slowly() ? 4 : 1; }

class RandomChains : public ::testing::TestWithParam<unsigned> {
 protected:
  static bool is_left_out() { return GetParam() % program_step() != 0; }
};

TEST_P(RandomChains, HaveTheSameBits) {
  if (is_left_out()) return;
  const RandomModel model;
  GraphOptions options;
  options.policy = Policy::none;
  const Outcome reference = run(model, GetParam(), options);
  for (Policy policy : {Policy::depth, Policy::agenda, Policy::descent, Policy::automatic}) {
    options.policy = policy;
    options.threads = 1 + (GetParam() + static_cast<unsigned>(policy)) % 4;
    SCOPED_TRACE(std::string(batching::name_of(policy)) + ", threads " +
                 std::to_string(options.threads));
    ASSERT_NO_FATAL_FAILURE(expect_same(reference, run(model, GetParam(), options)));
  }
}

// On other devices, sums of parameters' gradients begin anew in every part.
TEST_P(RandomChains, HaveTheSameBitsInParts) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "parts change last bits there";
  if (is_left_out()) return;
  const RandomModel model;
  GraphOptions options;
  const Outcome reference = run(model, GetParam(), options, true);
  options.memory_limit = 20000;
  ASSERT_NO_FATAL_FAILURE(expect_same(reference, run(model, GetParam(), options, true)));
}

TEST_P(RandomChains, HaveTheSameBitsInInference) {
  if (is_left_out()) return;
  const RandomModel model;
  GraphOptions options;
  Outcome trained = run(model, GetParam(), options, false, false);
  trained.gradients.clear();
  trained.parameters.clear();
  options.inference = true;
  ASSERT_NO_FATAL_FAILURE(expect_same(trained, run(model, GetParam(), options, false, false)));
}

INSTANTIATE_TEST_SUITE_P(Programs, RandomChains, ::testing::Range(0u, kPrograms));

}  // namespace
}  // namespace dynet_like::testing

// Cells that are found change no bit: of values, gradients, and parameters' gradients.
#include <gtest/gtest.h>

#include "tests/support/random_cells.h"
#include "tests/support/same_bits.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

using batching::Policy;

struct Outcome {
  std::vector<std::vector<float>> values, gradients;  // per sample
  std::vector<float> parameters;
  float loss = 0;
  std::uint64_t nodes_in_cells = 0, joined_cells = 0;
};

// Three minibatches one after the other, so that the last ones have cells.
Outcome run(const RandomModel& model, std::uint64_t program, GraphOptions options,
            bool only_totals = false) {
  constexpr unsigned kSamples = 8;
  Random random(99);
  options.random = &random;
  Minibatch batch(options);
  Outcome outcome;
  for (unsigned round = 0; round < 3; ++round) {
    batch.clear();
    std::vector<RandomGraph> graphs;
    for (unsigned s = 0; s < kSamples; ++s) {
      RandomCellsOptions cells;
      cells.noise = program % 2 == 1;
      cells.regular = program % 4 < 2;
      cells.cells = 1 + program % 3;
      graphs.push_back(record_random_cells(batch.new_graph(), model, program,
                                           1000 * program + 10 * round + s, cells));
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
    const Report report = batch.explain();
    outcome.nodes_in_cells += report.nodes_in_cells;
    for (const Report::Cell& cell : report.cells) {
      if (!cell.shared_calls.empty()) outcome.joined_cells += cell.cells;
    }
    if (only_totals) continue;
    for (const RandomGraph& graph : graphs) {
      outcome.gradients.emplace_back();
      outcome.values.emplace_back();
      for (const Expression& e : graph.all) {
        if (e.pg->tape().value(e.i).identity == 0) append(outcome.gradients.back(), e.gradient());
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

class RandomCells : public ::testing::TestWithParam<unsigned> {
 protected:
  static bool is_left_out() { return GetParam() % program_step() != 0; }
};

TEST_P(RandomCells, HaveTheSameBits) {
  if (is_left_out()) return;
  const RandomModel model;
  GraphOptions options;
  options.policy = Policy::none;
  options.cells_after = 0;
  const Outcome reference = run(model, GetParam(), options);
  EXPECT_EQ(reference.nodes_in_cells, 0u);
  for (Policy policy : {Policy::depth, Policy::agenda, Policy::descent, Policy::automatic}) {
    for (std::size_t cells_after : {0, 100}) {
      options.policy = policy;
      options.cells_after = cells_after;
      options.threads = 1 + (GetParam() + static_cast<unsigned>(policy)) % 4;
      SCOPED_TRACE(std::string(batching::name_of(policy)) + ", cells after " +
                   std::to_string(cells_after) + ", threads " + std::to_string(options.threads));
      ASSERT_NO_FATAL_FAILURE(expect_same(reference, run(model, GetParam(), options)));
    }
  }
}

// On other devices, sums of parameters' gradients begin anew in every part.
TEST_P(RandomCells, HaveTheSameBitsInParts) {
  if (!default_device()->is_cpu()) GTEST_SKIP() << "parts change last bits there";
  if (is_left_out()) return;
  const RandomModel model;
  GraphOptions options;
  options.cells_after = 0;
  const Outcome reference = run(model, GetParam(), options, true);
  options.memory_limit = 20000;
  options.cells_after = 100;
  ASSERT_NO_FATAL_FAILURE(expect_same(reference, run(model, GetParam(), options, true)));
}

TEST_P(RandomCells, HaveTheSameBitsInInference) {
  if (is_left_out()) return;
  const RandomModel model;
  GraphOptions options;
  options.cells_after = 100;
  options.inference = true;
  const Outcome inferred = run(model, GetParam(), options);
  options.cells_after = 0;
  ASSERT_NO_FATAL_FAILURE(expect_same(run(model, GetParam(), options), inferred));
}

INSTANTIATE_TEST_SUITE_P(Programs, RandomCells, ::testing::Range(0u, kPrograms));

TEST(RandomCellsTogether, AreFound) {
  const RandomModel model;
  GraphOptions options;
  options.cells_after = 100;
  std::uint64_t in_cells = 0, joined = 0;
  for (unsigned program = 0; program < kPrograms; program += program_step()) {
    const Outcome outcome = run(model, program, options, true);
    in_cells += outcome.nodes_in_cells;
    joined += outcome.joined_cells;
  }
  EXPECT_GT(in_cells, 10000u / program_step());
  EXPECT_GT(joined, 1000u / program_step());
}

}  // namespace
}  // namespace dynet_like::testing

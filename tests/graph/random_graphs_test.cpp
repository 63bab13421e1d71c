// Random graphs have the same bits in all modes, whatever is frozen.
#include "tests/support/freezer.h"
#include "tests/support/precompiled.h"
#include "tests/support/random_graph.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

Program program_of(const RandomModel& model, std::uint64_t seed, const RandomGraphOptions& options,
                   unsigned samples = 8) {
  const auto record = [=, &model](ComputationGraph& graph, unsigned sample) {
    const RandomGraph recorded = record_random_graph(graph, model, seed + sample, options);
    return Sample{recorded.loss, recorded.all};
  };
  Program program{model.collection, record, samples, options.dropout, options.derived};
  program.is_finite = !options.special_values;
  return program;
}

constexpr unsigned kRounds = kSlowBuild ? 24 : 72;

class RandomGraphs : public ::testing::TestWithParam<unsigned> {};

// A few sizes, now and then one of 2,000 nodes.
TEST_P(RandomGraphs, HaveTheSameBits) {
  const unsigned round = GetParam();
  if (runs_slowly() && round % 4 != 0) return;
  const RandomModel model;
  RandomGraphOptions options;
  options.nodes = round % 24 == 23 ? 2000 : 20 + (round * 37) % 260;
  options.special_values = round % 3 == 2;
  options.dropout = round % 2 == 0;
  options.derived = round % 4 < 2;
  const Program program = program_of(model, 1000 * round, options);
  if (round % 18 == 0) return expect_same_in_all_modes(program);
  expect_same_in_some_modes(program, round, options.nodes > 1000 ? 3 : 6);
}

INSTANTIATE_TEST_SUITE_P(Rounds, RandomGraphs, ::testing::Range(0u, kRounds));

// A minibatch that is kept has the bits of a new one, while parameters are frozen and thawed.
TEST(RandomGraphs, ReadParametersAsTheyAreNow) {
  const RandomModel model;
  Random random(5);
  Freezer freezer(model.collection);
  for (unsigned threads = 1; threads <= 3; ++threads) {
    Mode mode{{.threads = threads}};
    Minibatch kept(mode.options);
    for (unsigned round = 0; round < (runs_slowly() ? 4 : kRounds / 3); ++round) {
      SCOPED_TRACE(round);
      const RandomGraphOptions options{.nodes = 20 + 10 * (round % 12), .dropout = false};
      freezer.choose(random, 6);
      const Program program = freezer.around(program_of(model, 1000 * round, options));
      const Outcome got = run(kept, program, mode);
      ASSERT_TRUE(same_bits(got, run(program)));
      freezer.expect_no_gradient_of_frozen(got);
    }
  }
}

}  // namespace
}  // namespace dynet_like::testing

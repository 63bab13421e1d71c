// Random chains have the same bits in all modes.
#include "tests/support/modes.h"
#include "tests/support/precompiled.h"
#include "tests/support/random_chains.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

class RandomChains : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomChains, HaveTheSameBits) {
  const unsigned number = GetParam();
  if (runs_slowly() && number % 4 != 0) return;
  const RandomModel model;
  RandomChainsOptions options;
  options.noise = number % 2 == 1;
  options.dropout = number % 3 != 0;
  options.regular = number % 4 < 2;
  options.steps = 1 + number % 3;
  const auto record = [=, &model](ComputationGraph& graph, unsigned sample) {
    const RandomGraph recorded =
        record_random_chains(graph, model, number, 1000 * number + sample, options);
    return Sample{recorded.loss, recorded.all};
  };
  const Program program{model.collection, record, 16, options.dropout, true};
  if (number % 30 == 0) return expect_same_in_all_modes(program);
  expect_same_in_some_modes(program, number, 5);
}

INSTANTIATE_TEST_SUITE_P(Programs, RandomChains, ::testing::Range(0u, 60u));

}  // namespace
}  // namespace dynet_like::testing

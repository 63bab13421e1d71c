// Allocations of random programs of recursions and cells fail: after `clear` the same minibatch and
// functions give the same bits.
#include "tests/failing/failing_allocations.h"
#include "tests/support/precompiled.h"
#include "tests/support/random_program.h"

namespace dynet_like::testing {
namespace {

struct World {
  World(const RandomParameters& parameters, std::uint64_t seed, const Mode& its_mode)
      : random(parameters, seed), mode(its_mode) {}

  std::vector<Numbers> run() {
    Outcome outcome = testing::run(batch, random.program(Form::recursions, 2), mode);
    outcome.values.push_back(outcome.parameters);
    return outcome.values;
  }

  RandomProgram random;
  Mode mode;
  Minibatch batch{mode.options};
};

class FailingRecursions : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Passes, FailingRecursions, ::testing::Bool());

TEST_P(FailingRecursions, LeaveAMinibatchAsGoodAsNew) {
  const RandomParameters parameters(DType::f32);
  for (const std::uint64_t seed : {1, 5}) {
    const Mode mode{{.inference = GetParam()}};
    const auto make_world = [&] { return std::make_unique<World>(parameters, seed, mode); };
    failing::expect_as_good_as_new(make_world, [](World& world) { return world.run(); });
  }
}

}  // namespace
}  // namespace dynet_like::testing

// Random programs of recursions, cells and plain operations whose arguments are read in several
// shapes, by several readers, inside and outside: the values and gradients of the functions called
// directly, and the same bits under every policy, with any number of threads, in any minibatch.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/recursion/random_program.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

using batching::Policy;

/// All samples in minibatches of so many.
Numbers run(const Model& model, const Program& program, const GraphOptions& options,
            unsigned together, bool directly = false) {
  Minibatch batch(options_for(model, options));
  return run(batch, model, program, {.together = together, .directly = directly});
}

constexpr unsigned kPart = 100;

// DYNET_LIKE_THOROUGH: 10,000 programs.
unsigned part_count() { return is_thorough() ? 100 : runs_slowly() ? 1 : 3; }

template <class Check>
void for_programs(const Check& check) {
  for (std::uint64_t seed = 0; seed < part_count() * kPart; ++seed) {
    SCOPED_TRACE(seed);
    ASSERT_NO_FATAL_FAILURE(check(seed));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(RandomPrograms, HaveTheValuesAndGradientsOfDirectCalls) {
  const Model model(DType::f64);
  for_programs([&](std::uint64_t seed) {
    const Program program(model, seed);
    expect_near_direct(program, run(model, program, {}, kSamples),
                       run(model, program, {}, kSamples, true));
  });
}

TEST(RandomPrograms, HaveTheSameBits) {
  const Model model(DType::f32);
  for_programs([&](std::uint64_t seed) {
    const Program program(model, seed);
    GraphOptions options;
    options.policy = Policy::none;
    const Numbers want = run(model, program, options, kSamples);
    unsigned threads = static_cast<unsigned>(seed);
    for (const Policy policy :
         {Policy::none, Policy::depth, Policy::agenda, Policy::descent, Policy::automatic}) {
      options.policy = policy;
      options.threads = 1 + ++threads % 3;
      SCOPED_TRACE(std::string(batching::name_of(policy)) + ", threads " +
                   std::to_string(options.threads));
      expect_same(run(model, program, options, kSamples), want);
      SCOPED_TRACE("alone or few");
      expect_same(run(model, program, options, 1 + threads % 2), want);
    }
  });
}

// Where everything is checked: against items one by one, and functions called again.
TEST(RandomPrograms, HaveTheSameBitsVerified) {
  const Model model(DType::f32);
  for_programs([&](std::uint64_t seed) {
    if (seed % 5 != 0) return;
    const Program program(model, seed);
    const Numbers want = run(model, program, {}, kSamples);
    GraphOptions options;
    options.verify_batching = options.detect_anomaly = true;
    expect_same(run(model, program, options, kSamples), want);
  });
}

// The functions called directly, as nodes of their own.
TEST(RandomPrograms, HaveTheSameBitsCalledDirectly) {
  const Model model(DType::f32);
  for_programs([&](std::uint64_t seed) {
    const Program program(model, seed);
    GraphOptions options;
    options.policy = Policy::none;
    const Numbers want = run(model, program, options, kSamples, true);
    options.policy = Policy::automatic;
    options.threads = 1 + static_cast<unsigned>(seed % 3);
    expect_same(run(model, program, options, kSamples, true), want);
    expect_same(run(model, program, options, 1, true), want);
  });
}

}  // namespace
}  // namespace dynet_like::testing

// Random programs of recursions, cells and plain operations whose arguments are read in several
// shapes, by several readers, inside and outside: the same numbers in all forms, modes and orders,
// whatever is frozen.
#include "tests/support/random_program.h"

#include "tests/support/freezer.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

/// DYNET_LIKE_THOROUGH: a hundred times as many programs.
template <class Check>
void for_programs(std::uint64_t count, const Check& check) {
  count = is_thorough()   ? 100 * count
          : kSlowBuild    ? (count + 7) / 8
          : runs_slowly() ? (count + 3) / 4
                          : count;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE("program " + std::to_string(seed));
    ASSERT_NO_FATAL_FAILURE(check(seed));
    if (::testing::Test::HasFailure()) return;
  }
}

TEST(RandomPrograms, HaveTheValuesAndGradientsOfDirectCalls) {
  const RandomParameters parameters(DType::f64);
  for_programs(300, [&](std::uint64_t seed) {
    const RandomProgram program(parameters, seed);
    const Mode mode{options_of(parameters.collection)};
    Outcome got = run(program.program(), mode);
    Outcome want = run(program.program(Form::operations), mode);
    // Matrices of states are watched in recursions alone. A state that is an argument as it is may
    // be read inside its vertex, too: then it has another gradient than a copy.
    for (std::size_t s = 0; s < got.gradients.size(); ++s) {
      got.gradients[s].resize(want.gradients[s].size());
    }
    if (program.draws()) got.gradients = want.gradients = {};
    EXPECT_TRUE(near(got, want));
  });
}

TEST(RandomPrograms, HaveTheSameNumbersInAllForms) {
  const RandomParameters parameters(DType::f32);
  for_programs(200, [&](std::uint64_t seed) {
    const RandomProgram program(parameters, seed, true);
    for (const bool inference : {false, true}) {
      const Mode mode{{.threads = 1 + static_cast<unsigned>(seed % 3), .inference = inference}};
      const Outcome want = run(program.program(Form::operations), mode);
      for (const Form form : {Form::cells, Form::recursions}) {
        // The sign of a zero may differ.
        EXPECT_TRUE(near(run(program.program(form), mode), want, 0)) << static_cast<int>(form);
      }
    }
  });
}

TEST(RandomPrograms, HaveTheSameBitsInAllModes) {
  const RandomParameters floats(DType::f32), doubles(DType::f64);
  for_programs(300, [&](std::uint64_t seed) {
    const RandomProgram program(seed % 4 == 0 ? doubles : floats, seed);
    if (seed % 20 == 0) return expect_same_in_all_modes(program.program());
    expect_same_in_some_modes(program.program(), seed, 6);
  });
}

// The functions as nodes of their own.
TEST(RandomPrograms, HaveTheSameBitsCalledDirectly) {
  const RandomParameters parameters(DType::f32);
  for_programs(100, [&](std::uint64_t seed) {
    const RandomProgram program(parameters, seed);
    expect_same_in_some_modes(program.program(Form::operations), seed, 3);
  });
}

/// Expects the same bits, except of gradients that go through values of parameters alone: in which
/// order these were recorded depends on what the functions met before.
void expect_alike(const RandomProgram& program, Outcome got, Outcome want) {
  if (program.derives()) {
    EXPECT_TRUE(near(got.parameters, want.parameters));
    got.parameters = want.parameters = {};
  }
  EXPECT_TRUE(same_bits(got, want));
}

// A function is recorded when it meets a new kind of vertex: not when, and by which of several
// threads at once, must matter.
TEST(RandomPrograms, HaveTheSameBitsWhicheverKindsCameFirst) {
  const RandomParameters parameters(DType::f32);
  for_programs(60, [&](std::uint64_t seed) {
    constexpr unsigned kSamples = 12;
    const RandomProgram fresh(parameters, seed), backwards(parameters, seed);
    const Outcome want = run(fresh.program(Form::recursions, kSamples));
    for (unsigned first = kSamples; first-- > 0;) {
      Program one = backwards.program(Form::recursions, 1);
      one.first = first;
      run(one);
    }
    expect_alike(fresh, run(backwards.program(Form::recursions, kSamples)), want);
    for (const Way way : {Way::beside_each_other, Way::in_waves}) {
      const RandomProgram beside(parameters, seed);
      const Mode mode{{.threads = 4}, 0, way};
      expect_alike(fresh, run(beside.program(Form::recursions, kSamples), mode), want);
    }
  });
}

/// Expects that functions and minibatches that are kept have the bits of those that are made anew,
/// while parameters are frozen, thawed and changed from run to run and from sample to sample.
void expect_parameters_as_they_are(const RandomParameters& parameters, std::uint64_t seed) {
  Random random(seed ^ 0xf0f0);
  Freezer freezer(parameters.collection);
  const RandomProgram kept(parameters, seed);
  Mode mode{options_of(parameters.collection)};
  mode.options.policy = static_cast<batching::Policy>(random.below(5));
  mode.options.threads = 1 + random.below(3);
  mode.options.verify_batching = random.below(12) == 0;
  mode.options.share_repeated = random.below(4) == 0;
  Mode infers = mode;
  infers.options.inference = true;
  Minibatch training(mode.options), inference(infers.options);
  for (unsigned r = 0; r < 4; ++r) {
    SCOPED_TRACE("run " + std::to_string(r));
    // Ever more samples, so that there are new kinds of vertices in any run.
    const unsigned first = random.below(2 * r + 1), samples = 1 + random.below(3);
    freezer.choose(random, samples);
    const bool is_inference = random.below(5) == 0;
    const Mode& its_mode = is_inference ? infers : mode;
    Outcome got =
        run(is_inference ? inference : training, freezer.around(kept.program(), first), its_mode);
    Mode plain{options_of(parameters.collection)};
    plain.options.inference = is_inference;
    const RandomProgram anew(parameters, seed);
    const Outcome want = run(freezer.around(anew.program(), first), plain);
    if (mode.options.share_repeated) {
      got.gradients = want.gradients;  // of values of samples that others share
      EXPECT_TRUE(near(got, want));
    } else {
      expect_alike(kept, got, want);
    }
    freezer.expect_no_gradient_of_frozen(got);
    if (parameters.collection.dtype() == DType::f32) continue;
    Outcome directly = run(freezer.around(kept.program(Form::operations), first), plain);
    // What reaches no parameter has no gradient, and a vertex may reach fewer than its recursion.
    directly.gradients = want.gradients;
    EXPECT_TRUE(near(directly, want));
  }
}

TEST(RandomPrograms, ReadParametersAsTheyAreNow) {
  std::optional<RandomParameters> parameters;
  for_programs(180, [&](std::uint64_t seed) {
    if (seed % 30 == 0) parameters.emplace(seed % 60 == 0 ? DType::f32 : DType::f64);
    expect_parameters_as_they_are(*parameters, seed);
  });
}

}  // namespace
}  // namespace dynet_like::testing

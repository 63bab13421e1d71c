// Random programs whose parameters are frozen, thawed and changed from run to run, and from sample
// to sample: functions that are kept have the bits of functions that are recorded anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tests/recursion/random_program.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kRuns = 4;

/// Parameters of a model, and which of them are frozen in each sample of a run.
class Parameters {
 public:
  explicit Parameters(const Model& model) : all_(model.collection.storages()) { thaw(); }

  void choose(Dice& dice, unsigned first, unsigned samples) {
    const bool may_change = roll(dice, 3) == 0;
    frozen_.clear();
    first_ = first;
    for (unsigned i = 0; i < samples; ++i) {
      std::vector<bool> frozen;
      for (std::size_t p = 0; p < all_.size(); ++p) frozen.push_back(roll(dice, 3) == 0);
      frozen_.push_back(i > 0 && !may_change ? frozen_[0] : frozen);
    }
    for (const auto& parameter : all_) parameter->updated = roll(dice, 4) > 0;
    Tensor values = all_[roll(dice, static_cast<unsigned>(all_.size()))]->tensor();
    const unsigned at = roll(dice, values.d.size());
    values.set(at, values.at(at) + 0.125 * roll(dice, 5) - 0.25);
    for (const auto& parameter : all_) parameter->values_written();
  }
  void set_for(unsigned sample) const {
    for (std::size_t p = 0; p < all_.size(); ++p) all_[p]->frozen = frozen_[sample - first_][p];
  }
  void thaw() const {
    for (const auto& parameter : all_) parameter->frozen = false;
  }
  /// The elements of parameters that were frozen in all samples.
  std::vector<bool> always_frozen() const {
    std::vector<bool> elements;
    for (std::size_t p = 0; p < all_.size(); ++p) {
      const bool always = std::ranges::all_of(frozen_, [&](const auto& of) { return of[p]; });
      elements.insert(elements.end(), all_[p]->size(), always);
    }
    return elements;
  }

 private:
  std::vector<std::shared_ptr<ParameterStorage>> all_;
  std::vector<std::vector<bool>> frozen_;  ///< by sample
  unsigned first_ = 0;
};

GraphOptions random_options(Dice& dice) {
  using batching::Policy;
  constexpr Policy kPolicies[] = {Policy::none, Policy::depth, Policy::agenda, Policy::descent,
                                  Policy::automatic};
  GraphOptions options;
  options.policy = kPolicies[roll(dice, 5)];
  options.threads = 1 + roll(dice, 3);
  options.verify_batching = roll(dice, 12) == 0;
  options.share_repeated = roll(dice, 4) == 0;
  return options;
}

/// Runs a program several times, in training and in inference.
void check(const Model& model, std::uint64_t seed) {
  Dice dice(seed ^ 0xf0f0);
  Parameters parameters(model);
  const Program kept(model, seed);
  const GraphOptions options = options_for(model, random_options(dice));
  GraphOptions infers = options;
  infers.inference = true;
  Minibatch training(options), inference(infers);
  for (unsigned r = 0; r < kRuns; ++r) {
    SCOPED_TRACE("run " + std::to_string(r));
    // Ever more samples, so that there are new kinds of vertices in any run.
    Samples which{.first = roll(dice, 2 * r + 1), .count = 1 + roll(dice, 3)};
    which.together = 1 + roll(dice, which.count);
    parameters.choose(dice, which.first, which.count);
    which.before = [&](unsigned sample) { parameters.set_for(sample); };
    const bool is_inference = roll(dice, 5) == 0;
    const Numbers got = run(is_inference ? inference : training, model, kept, which, is_inference);
    GraphOptions plain = options_for(model, {});
    plain.inference = is_inference;
    Minibatch anew(plain);
    const Numbers want = run(anew, model, Program(model, seed), which, is_inference);
    if (options.share_repeated) {
      ASSERT_NO_FATAL_FAILURE(expect_near(got, want));
    } else {
      ASSERT_NO_FATAL_FAILURE(expect_same(got, want));
    }
    if (model.collection.dtype() == DType::f64) {
      which.directly = true;
      anew.clear();
      // What reaches no parameter has no gradient, and a vertex may reach fewer than its recursion.
      const Numbers directly = run(anew, model, kept, which, is_inference);
      ASSERT_NO_FATAL_FAILURE(expect_near(directly.values, want.values));
      ASSERT_NO_FATAL_FAILURE(expect_near(directly.parameters, want.parameters));
    }
    const std::vector<bool> frozen = parameters.always_frozen();
    for (std::size_t i = 0; i < got.parameters.size(); ++i) {
      ASSERT_TRUE(!frozen[i] || got.parameters[i] == 0) << i;
    }
  }
  parameters.thaw();
}

// DYNET_LIKE_THOROUGH: 40,000 programs.
TEST(RandomFrozen, ParametersAreReadAsTheyAreNow) {
  const unsigned count = is_thorough() ? 40000 : runs_slowly() ? 40 : 200;
  std::optional<Model> model;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    if (seed % 50 == 0) model.emplace(seed % 100 == 0 ? DType::f32 : DType::f64);
    ASSERT_NO_FATAL_FAILURE(check(*model, seed));
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace dynet_like::testing

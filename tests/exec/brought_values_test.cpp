// Values that are asked for together come from a device in one copy.
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class BroughtValuesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (default_device()->is_cpu()) GTEST_SKIP() << "nothing has to be copied";
  }
  static std::uint64_t copies() { return default_device()->counts().copies_to_host; }

  Expression step(ComputationGraph& graph, unsigned word) const {
    return tanh(parameter(graph, weights) * lookup(graph, words, word));
  }

  ParameterCollection model{5};
  LookupParameter words = model.add_lookup_parameters(10, {7});
  Parameter weights = model.add_parameters({7, 7});
};

TEST_F(BroughtValuesTest, OfOneGraph) {
  ComputationGraph graph, other;
  const Expression x = step(graph, 1), y = step(graph, 2) * 2.0f, part = pick_range(y, 2, 5);
  const Expression rows = select_rows(concatenate_cols({x, y}), std::vector<unsigned>{3, 0});
  const std::uint64_t before = copies();
  // Twice the same; a view that is contiguous.
  const std::vector<Tensor> values = values_of({x, y, part, x, rows});
  EXPECT_EQ(copies(), before + 1);
  EXPECT_EQ(as_vector(x.value()), as_vector(values[0]));
  EXPECT_EQ(as_vector(values_of({y, part})[1]), as_vector(values[2]));
  EXPECT_EQ(copies(), before + 1);
  EXPECT_EQ(as_vector(values[0]), as_vector(step(other, 1).value()));
  EXPECT_EQ(as_vector(values[1]), as_vector((step(other, 2) * 2.0f).value()));
  EXPECT_EQ(as_vector(values[3]), as_vector(values[0]));
}

TEST_F(BroughtValuesTest, OfAWave) {
  constexpr unsigned kSamples = 9, kSteps = 4;
  const auto decide = [&](ComputationGraph& graph, std::size_t i) {
    std::vector<std::size_t> decisions = {i};
    for (unsigned s = 0; s < kSteps; ++s) {
      const Expression y = step(graph, static_cast<unsigned>(decisions.back()));
      decisions.push_back(argmax(values_of({y, y * -1.0f})[s % 2]));
    }
    return decisions;
  };
  Minibatch batch;
  const std::uint64_t before = copies();
  const auto together = for_each_sample(batch, kSamples, decide);
  EXPECT_EQ(copies(), before + kSteps);
  for (unsigned i = 0; i < kSamples; ++i) {
    ComputationGraph graph;
    EXPECT_EQ(decide(graph, i), together[i]) << i;
  }
}

}  // namespace
}  // namespace dynet_like

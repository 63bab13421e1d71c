// What holds for every operation that is made of operations: values, minibatches, samples,
// gradients.
#include "tests/ops/composed_function.h"

#include "dynet_like/train/gradient_check.h"
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like {

// No two numbers are within a step of each other.
ComposedOpTest::ComposedOpTest() {
  Random random(7);
  int count = 0;
  for (const Dim& dim : GetParam().inputs) {
    const Tensor all =
        inputs_.emplace_back(model_.add_lookup_parameters(kElements, dim)).all_values();
    for (std::size_t i = 0; i < all.d.size(); ++i) {
      const double x = GetParam().low + (GetParam().high - GetParam().low) * random.uniform();
      all.set(i, std::round(x * 256) / 256 + 0x1p-15 * ++count);
    }
  }
}

Expression ComposedOpTest::record(ComputationGraph& graph, unsigned element) const {
  std::vector<Expression> xs;
  for (const LookupParameter& input : inputs_) xs.push_back(lookup(graph, input, element));
  return GetParam().build(xs);
}

Expression ComposedOpTest::record_all(ComputationGraph& graph) const {
  std::vector<Expression> xs;
  for (const LookupParameter& input : inputs_) xs.push_back(lookup(graph, input, {0, 1, 2}));
  return GetParam().build(xs);
}

Doubles ComposedOpTest::values_of(unsigned element) const {
  ComputationGraph graph(options_);
  return as_doubles(record(graph, element).value());
}

TEST_P(ComposedOpTest, ValuesAreThoseOfPlainLoops) {
  for (unsigned element = 0; element < kElements; ++element) {
    std::vector<Doubles> xs;
    for (const LookupParameter& input : inputs_) xs.push_back(as_doubles(input.values(element)));
    const Doubles got = values_of(element), expected = GetParam().plain(xs);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], 1e-12 * std::max(1.0, std::abs(expected[i]))) << i;
    }
  }
}

TEST_P(ComposedOpTest, AMinibatchIsItsElements) {
  ComputationGraph graph(options_);
  Doubles one_by_one;
  for (unsigned element = 0; element < kElements; ++element) {
    for (const double x : values_of(element)) one_by_one.push_back(x);
  }
  EXPECT_EQ(as_doubles(record_all(graph).value()), one_by_one);
}

TEST_P(ComposedOpTest, SamplesRunTogetherAsAlone) {
  for (batching::Policy policy : {batching::Policy::none, batching::Policy::automatic}) {
    options_.policy = policy;
    Minibatch batch(options_);
    std::vector<Expression> results;
    for (unsigned element = 0; element < kElements; ++element) {
      results.push_back(record(batch.new_graph(), element));
      batch.add_output(results.back());
    }
    batch.forward();
    for (unsigned element = 0; element < kElements; ++element) {
      EXPECT_EQ(as_doubles(results[element].value()), values_of(element));
    }
  }
}

TEST_P(ComposedOpTest, GradientsAreSlopes) {
  std::size_t numbers = 0;
  for (const auto& storage : model_.storages()) numbers += storage->size();
  if (runs_slowly() && numbers > 300) GTEST_SKIP() << "computes the operation for each number";
  const auto loss = [&](ComputationGraph& graph) {
    const Expression result = record_all(graph);
    Random random(3);
    std::vector<float> weights(result.dim().size());
    for (float& weight : weights) weight = static_cast<float>(0.5 + random.uniform());
    return sum_batches(dot_product(result, input(graph, result.dim(), weights)));
  };
  const GradientDifference worst = check_gradients(model_, loss);
  EXPECT_LT(worst.error(), 1e-7) << worst.parameter << ", element " << worst.element << ": slope "
                                 << worst.slope << ", gradient " << worst.gradient;
}

}  // namespace dynet_like

// What holds for every operation that is made of operations: values, minibatches, samples,
// gradients.
#include "tests/ops/composed_function.h"

#include "tests/support/slow_build.h"

namespace dynet_like {

TEST_P(ComposedOpTest, ValuesAreThoseOfPlainLoops) {
  for (int element = 0; element < static_cast<int>(kElements); ++element) {
    ComputationGraph graph(options());
    const Doubles got = as_doubles(record(graph, element).value());
    std::vector<Doubles> xs;
    for (std::size_t j = 0; j < values_.size(); ++j) {
      const auto begin = values_[j].begin() + element * GetParam().inputs[j].size();
      xs.emplace_back(begin, begin + GetParam().inputs[j].size());
    }
    const Doubles expected = GetParam().plain(xs);
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_NEAR(got[i], expected[i], 1e-12 * std::max(1.0, std::abs(expected[i]))) << i;
    }
  }
}

TEST_P(ComposedOpTest, AMinibatchIsItsElements) {
  ComputationGraph graph(options());
  const Doubles all = as_doubles(record(graph, -1).value());
  Doubles one_by_one;
  for (unsigned element = 0; element < kElements; ++element) {
    ComputationGraph own(options());
    for (double x : as_doubles(record(own, static_cast<int>(element)).value())) {
      one_by_one.push_back(x);
    }
  }
  EXPECT_EQ(all, one_by_one);
}

TEST_P(ComposedOpTest, SamplesRunTogetherAsAlone) {
  for (batching::Policy policy : {batching::Policy::none, batching::Policy::automatic}) {
    Minibatch batch(options(policy));
    for (unsigned element = 0; element < kElements; ++element) {
      batch.add_loss(sum_elems(record(batch.new_graph(), static_cast<int>(element))));
    }
    double expected = 0;
    for (unsigned element = 0; element < kElements; ++element) {
      ComputationGraph own(options());
      expected += as_doubles(sum_elems(record(own, static_cast<int>(element))).value())[0];
    }
    EXPECT_NEAR(static_cast<double>(batch.forward()), expected,
                1e-5 * std::max(1.0, std::abs(expected)));
  }
}

TEST_P(ComposedOpTest, GradientsAreSlopes) {
  constexpr double kStep = 0x1p-20;
  ComputationGraph graph(options());
  Xs inputs;
  const Expression result = record(graph, -1, &inputs);
  Random random(3);
  const Dim dim = result.dim();
  std::vector<float> weights(dim.size());
  for (float& weight : weights) weight = static_cast<float>(0.5 + random.uniform());
  const Expression loss = sum_batches(dot_product(result, input(graph, dim, weights)));
  graph.backward(loss, true);
  std::vector<Doubles> gradients;
  for (const Expression& x : inputs) gradients.push_back(as_doubles(x.gradient()));
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    for (std::size_t i = 0; i < values_[j].size(); i += runs_slowly() ? 5 : 1) {
      const float before = values_[j][i];
      const auto loss_at = [&](double x) {
        values_[j][i] = static_cast<float>(x);
        graph.invalidate();
        return as_doubles(loss.value())[0];
      };
      const double x = static_cast<double>(before);
      const double slope = (loss_at(x + kStep) - loss_at(x - kStep)) / (2 * kStep);
      values_[j][i] = before;
      ASSERT_NEAR(gradients[j][i], slope, 1e-7 * std::max(1.0, std::abs(slope)))
          << "element " << i << " of input " << j;
    }
  }
}

}  // namespace dynet_like

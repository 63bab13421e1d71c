// Tests of public operations that are made of others: their values against plain loops, and of all
// of them gradients, minibatches and batches. The includer instantiates ComposedOpTest.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "dynet_like/dynet_like.h"

namespace dynet_like {

using Doubles = std::vector<double>;
using Xs = std::vector<Expression>;

/// An operation on inputs of these shapes, drawn from [low, high].
struct Function {
  const char* name;
  std::vector<Dim> inputs;
  std::function<Expression(const Xs&)> build;
  std::function<Doubles(const std::vector<Doubles>&)> plain;  ///< of one minibatch element
  double low = -1.5, high = 1.5;
};

inline void PrintTo(const Function& function, std::ostream* out) { *out << function.name; }

inline constexpr unsigned kElements = 3;

inline Dim minibatch_of(Dim dim, unsigned elements) {
  dim.bd = elements;
  return dim;
}

class ComposedOpTest : public ::testing::TestWithParam<Function> {
 protected:
  static GraphOptions options(batching::Policy policy = batching::Policy::automatic) {
    GraphOptions options;
    options.dtype = DType::f64;
    options.policy = policy;
    return options;
  }

  // Few digits, so that steps are exact; no two numbers within a step of each other.
  void SetUp() override {
    Random random(7);
    const Function& function = GetParam();
    for (const Dim& dim : function.inputs) {
      std::vector<float> numbers(dim.size() * kElements);
      for (float& number : numbers) {
        const double x = function.low + (function.high - function.low) * random.uniform();
        number = static_cast<float>(std::round(x * 256) / 256 + 0x1p-15 * ++count_);
      }
      values_.push_back(numbers);
    }
  }

  // One element, or all of them as a minibatch.
  Expression record(ComputationGraph& graph, int element, Xs* inputs = nullptr) {
    Xs xs;
    for (std::size_t j = 0; j < values_.size(); ++j) {
      const Dim& dim = GetParam().inputs[j];
      if (element < 0) {
        xs.push_back(input(graph, minibatch_of(dim, kElements), &values_[j]));
      } else {
        const auto begin = values_[j].begin() + element * dim.size();
        xs.push_back(input(graph, dim, std::vector<float>(begin, begin + dim.size())));
      }
    }
    if (inputs != nullptr) *inputs = xs;
    return GetParam().build(xs);
  }

  std::vector<std::vector<float>> values_;
  int count_ = 0;
};

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
    for (std::size_t i = 0; i < values_[j].size(); ++i) {
      const float before = values_[j][i];
      const auto loss_at = [&](double x) {
        values_[j][i] = static_cast<float>(x);
        return as_doubles(graph.forward(loss))[0];
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

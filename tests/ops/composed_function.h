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

}  // namespace dynet_like

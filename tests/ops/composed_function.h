// Public operations that are made of others: rows with their formulas. The tests of all rows, in
// composed_function_test.cpp, are of values, gradients, minibatches and batches. The includer
// instantiates ComposedOpTest.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "dynet_like/dynet_like.h"

namespace dynet_like {

using Doubles = std::vector<double>;
/// The inputs of an operation, and their numbers in one minibatch element.
using Xs = const std::vector<Expression>&;
using Inputs = const std::vector<Doubles>&;

/// An operation on inputs of these shapes, drawn from [low, high].
struct Function {
  const char* name;
  std::vector<Dim> inputs;
  std::function<Expression(Xs)> build;
  std::function<Doubles(Inputs)> plain;
  double low = -1.5, high = 1.5;
};

inline void PrintTo(const Function& function, std::ostream* out) { *out << function.name; }
inline std::string name_of_function(const ::testing::TestParamInfo<Function>& info) {
  return info.param.name;
}

// ---------------------------------------------------------------- what plain formulas are made of

template <class F, class... More>
Doubles by_element(const F& f, const Doubles& x, const More&... more) {
  Doubles result;
  for (std::size_t i = 0; i < x.size(); ++i) result.push_back(f(x[i], more[i]...));
  return result;
}
template <class F>
Doubles by_column(std::size_t rows, const F& f, const Doubles& x) {
  Doubles result;
  for (auto column = x.begin(); column != x.end(); column += static_cast<std::ptrdiff_t>(rows)) {
    result.push_back(f(Doubles(column, column + static_cast<std::ptrdiff_t>(rows))));
  }
  return result;
}
inline double total(const Doubles& x) {
  double sum = 0;
  for (const double each : x) sum += each;
  return sum;
}

// ------------------------------------------------------------------------------------- the tests

class ComposedOpTest : public ::testing::TestWithParam<Function> {
 protected:
  static constexpr unsigned kElements = 3;

  ComposedOpTest();

  /// Of one minibatch element, or of all of them as a minibatch.
  Expression record(ComputationGraph& graph, unsigned element) const;
  Expression record_all(ComputationGraph& graph) const;
  Doubles values_of(unsigned element) const;

  GraphOptions options_{.dtype = DType::f64};
  ParameterCollection model_{1, DType::f64};
  std::vector<LookupParameter> inputs_;  // a row for each minibatch element
};

}  // namespace dynet_like

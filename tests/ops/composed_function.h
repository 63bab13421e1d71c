// Public operations that are made of others: rows with their formulas. The tests of all rows, in
// composed_function_test.cpp, are of values, gradients, minibatches and batches. The includer
// instantiates ComposedOpTest.
#pragma once

#include "tests/support/precompiled.h"

namespace dynet_like {

using Doubles = std::vector<double>;
/// The inputs of an operation, and their numbers in one minibatch element.
using Xs = const std::vector<Expression>&;
using Inputs = const std::vector<Doubles>&;

/// Shapes of inputs.
template <class... Dims>
std::vector<Dim> of(const Dims&... dims) {
  return {dims...};
}
/// An operation on inputs of these shapes, drawn from [low, high], and its formula for one
/// minibatch element.
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

// ---------------------------------------------------------------------- kinds of plain formulas

using Plain = std::function<Doubles(Inputs)>;

inline double total(const Doubles& x) {
  double sum = 0;
  for (const double each : x) sum += each;
  return sum;
}

/// f of the elements of one, two or three inputs.
template <class F>
Plain each(const F& f) {
  return [f](Inputs x) {
    Doubles result;
    for (std::size_t i = 0; i < x[0].size(); ++i) {
      if constexpr (std::is_invocable_v<F, double>) {
        result.push_back(f(x[0][i]));
      } else if constexpr (std::is_invocable_v<F, double, double>) {
        result.push_back(f(x[0][i], x[1][i]));
      } else {
        result.push_back(f(x[0][i], x[1][i], x[2][i]));
      }
    }
    return result;
  };
}
/// The sum of these.
template <class F>
Plain sum_of(const F& f) {
  return [of_elements = each(f)](Inputs x) { return Doubles{total(of_elements(x))}; };
}
/// One number, f of all inputs.
template <class F>
Plain number(const F& f) {
  return [f](Inputs x) { return Doubles{f(x)}; };
}
/// f of the columns of all inputs, one after the other.
template <class F>
Plain columns(std::ptrdiff_t rows, const F& f) {
  return [rows, f](Inputs x) {
    Doubles result;
    for (std::ptrdiff_t at = 0; at < std::ssize(x[0]); at += rows) {
      std::vector<Doubles> column;
      for (const Doubles& input : x) {
        column.emplace_back(input.begin() + at, input.begin() + at + rows);
      }
      result.push_back(f(column));
    }
    return result;
  };
}
/// So many sums, or what the last input has: term i is added to the sum place(i).
template <class Term, class Place>
Plain sums(std::size_t count, int terms, const Term& term, const Place& place) {
  return [=](Inputs x) {
    Doubles result = count > 0 ? Doubles(count) : x.back();
    for (int i = 0; i < terms; ++i) result[static_cast<std::size_t>(place(i))] += term(x, i);
    return result;
  };
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

// A program that must give the same bits, whatever policy plans its batches.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::testing {

/// The numbers that a program has computed, in order.
struct Notes {
  std::vector<double> numbers;
  std::vector<std::string> names;  ///< of each number

  void add(const std::string& name, const Tensor& tensor) {
    for (std::size_t i = 0; i < tensor.d.size(); ++i) {
      numbers.push_back(tensor.at(i));
      names.push_back(name + ", element " + std::to_string(i));
    }
  }
  void add(const std::string& name, const std::vector<float>& values) {
    for (float value : values) {
      numbers.push_back(static_cast<double>(value));
      names.push_back(name);
    }
  }
};

using Program = std::function<void(const GraphOptions& options, Notes& notes)>;

/// Whether bits are equal. A NaN equals any NaN.
inline ::testing::AssertionResult same(const Notes& a, const Notes& b) {
  if (a.names != b.names) return ::testing::AssertionFailure() << "other things were noted";
  for (std::size_t i = 0; i < a.numbers.size(); ++i) {
    if (std::memcmp(&a.numbers[i], &b.numbers[i], sizeof(double)) == 0) continue;
    if (std::isnan(a.numbers[i]) && std::isnan(b.numbers[i])) continue;
    return ::testing::AssertionFailure()
           << a.names[i] << ": " << a.numbers[i] << " and " << b.numbers[i];
  }
  return ::testing::AssertionSuccess();
}

/// Expects the bits of running node by node under all policies.
inline void expect_same_under_policies(const Program& program, GraphOptions options = {}) {
  using batching::Policy;
  const auto run = [&](Policy policy) {
    options.policy = policy;
    Notes notes;
    program(options, notes);
    return notes;
  };
  const Notes reference = run(Policy::none);
  for (Policy policy : {Policy::automatic, Policy::depth, Policy::agenda, Policy::descent}) {
    SCOPED_TRACE(batching::name_of(policy));
    EXPECT_TRUE(same(reference, run(policy)));
  }
}

}  // namespace dynet_like::testing

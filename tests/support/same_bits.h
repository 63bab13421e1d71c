// Compares bits.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::testing {

inline void append(std::vector<float>& to, const Tensor& tensor) {
  for (std::size_t i = 0; i < tensor.d.size(); ++i) to.push_back(static_cast<float>(tensor.at(i)));
}

/// Whether bits are equal. A NaN equals any NaN, since a + b and b + a may keep different ones.
inline ::testing::AssertionResult same(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " and " << b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::memcmp(&a[i], &b[i], sizeof(float)) == 0) continue;
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
  }
  return ::testing::AssertionSuccess();
}

/// The same for sums that may begin at another addend: a GPU adds up many addends in chunks.
inline ::testing::AssertionResult same_sums(const std::vector<float>& a,
                                            const std::vector<float>& b) {
  if (default_device()->is_cpu()) return same(a, b);
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " and " << b.size();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i] || std::abs(a[i] - b[i]) <= 1e-5f * (1 + std::abs(a[i]))) continue;
    return ::testing::AssertionFailure() << "element " << i << ": " << a[i] << " and " << b[i];
  }
  return ::testing::AssertionSuccess();
}

}  // namespace dynet_like::testing

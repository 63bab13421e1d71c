// What tests of layers share: models in double with drawn numbers, and their numbers as doubles.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "dynet_like/dynet_like.h"

namespace dynet_like::nn {

using Doubles = std::vector<double>;

inline GraphOptions double_options() {
  GraphOptions options;
  options.dtype = DType::f64;
  return options;
}

/// Every number of every parameter anew, so that no bias is zero.
inline void randomise(const ParameterCollection& model, std::uint64_t seed) {
  Random random(seed);
  for (const auto& storage : model.storages()) {
    const Tensor values = storage->tensor();
    for (unsigned i = 0; i < storage->size(); ++i) values.set(i, 0.5 * random.normal());
    storage->values_written();
  }
}

inline Doubles numbers(const ParameterCollection& model, const std::string& name) {
  const auto storage = model.find(name);
  if (storage == nullptr) throw UsageError("no parameter " + name);
  return as_doubles(storage->tensor());
}

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

/// y += W x, W column-major.
inline void add_product(Doubles& y, const Doubles& w, const Doubles& x) {
  ASSERT_EQ(w.size(), y.size() * x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += w[j * y.size() + i] * x[j];
  }
}

inline void expect_near(const Tensor& got, const Doubles& expected) {
  ASSERT_EQ(got.d.size(), expected.size());
  for (unsigned i = 0; i < got.d.size(); ++i) EXPECT_NEAR(got.at(i), expected[i], 1e-12);
}

inline Doubles row(const LookupParameter& table, unsigned i) { return as_doubles(table.values(i)); }

/// Every dense gradient is the slope of loss(), which reads the parameters as they are.
template <class Loss>
void expect_slopes(const ParameterCollection& model, const Gradients& gradients, const Loss& loss) {
  for (const auto& storage : model.storages()) {
    if (storage->is_table) continue;
    const void* const dense = gradients.find_dense(*storage);
    ASSERT_NE(dense, nullptr) << storage->name;
    Doubles gradient(storage->size());
    storage->device().read(gradient.data(), dense, gradient.size() * sizeof(double));
    for (unsigned i = 0; i < storage->size(); ++i) {
      constexpr double kStep = 1e-5;
      const double before = Parameter(storage).values().at(i);
      const auto loss_at = [&](double value) {
        Parameter(storage).values().set(i, value);
        return loss();
      };
      const double slope = (loss_at(before + kStep) - loss_at(before - kStep)) / (2 * kStep);
      loss_at(before);
      EXPECT_NEAR(gradient[i], slope, 1e-8) << storage->name << ' ' << i;
    }
  }
}

}  // namespace dynet_like::nn

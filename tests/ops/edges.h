// What tests of operations at the ends of their formulas share: a graph of float or double, and how
// results are compared.
#pragma once

#include "tests/support/precompiled.h"

namespace dynet_like {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A test of this kind runs in float and in double.
class OpEdges : public ::testing::TestWithParam<DType> {
 protected:
  static GraphOptions options() {
    GraphOptions options;
    options.dtype = GetParam();
    return options;
  }

  Expression vector(const Floats& values) {
    return input(graph_, Dim({static_cast<unsigned>(values.size())}), values);
  }
  Expression matrix(unsigned n, const Floats& values) { return input(graph_, Dim({n, n}), values); }
  static Doubles values(const Expression& y) { return as_doubles(y.value()); }
  /// The gradient of the sum of all elements of y.
  Doubles gradient(const Expression& y, const Expression& x) {
    graph_.backward(sum_batches(sum_elems(y)), true);
    return as_doubles(x.gradient());
  }
  /// Equal but for a few roundings.
  static void expect_near(const Doubles& got, const Doubles& expected) {
    const double epsilon = GetParam() == DType::f32 ? 0x1p-23 : 0x1p-52;
    ASSERT_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (std::isfinite(expected[i])) {
        EXPECT_NEAR(got[i], expected[i], 4 * epsilon * std::max(1.0, std::abs(expected[i]))) << i;
      } else {
        EXPECT_EQ(got[i], expected[i]) << i;
      }
    }
  }

  ComputationGraph graph_{options()};
};

inline const auto kBothTypes = ::testing::Values(DType::f32, DType::f64);
inline std::string name_of_type(const ::testing::TestParamInfo<DType>& info) {
  return std::string(name_of(info.param));
}

}  // namespace dynet_like

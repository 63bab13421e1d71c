// Operations where their formulas end: infinite, huge, equal and vanishing numbers; in float and in
// double.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

#include "dynet_like/dynet_like.h"

namespace dynet_like {
namespace {

using Doubles = std::vector<double>;
using Floats = std::vector<float>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class OpEdgesTest : public ::testing::TestWithParam<DType> {
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

INSTANTIATE_TEST_SUITE_P(All, OpEdgesTest, ::testing::Values(DType::f32, DType::f64),
                         [](const auto& info) { return std::string(name_of(info.param)); });

// ------------------------------------------------------------------------------- logarithms

TEST_P(OpEdgesTest, LogSumExpOfOneInput) {
  const Expression x = vector({3, -1e30f, kInf, -kInf});
  const Expression y = logsumexp({x});
  EXPECT_EQ(values(y), values(x));
  EXPECT_EQ(gradient(y, x), (Doubles{1, 1, 1, 0}));
}

TEST_P(OpEdgesTest, LogSumExpOfHugeNumbers) {
  const double huge = static_cast<double>(1e30f);
  for (const float sign : {1.0f, -1.0f}) {
    const Expression x = vector({sign * 1e30f, sign * 1e30f});
    const Expression y = logsumexp_dim(x, 0);
    EXPECT_EQ(values(y), Doubles{static_cast<double>(sign) * huge});
    expect_near(gradient(y, x), {0.5, 0.5});
  }
  const Expression a = vector({1e4f}), b = vector({1e4f}), c = vector({-1e30f});
  const Expression y = logsumexp({a, b, c});
  expect_near(values(y), {1e4 + std::numbers::ln2});
  expect_near(gradient(y, a), {0.5});
  expect_near(gradient(y, c), {0});
}

TEST_P(OpEdgesTest, LogSumExpOfInfinities) {
  const Expression none = vector({-kInf, -kInf, -kInf});
  EXPECT_EQ(values(logsumexp_dim(none, 0)), Doubles{-kInfinity});
  EXPECT_EQ(gradient(logsumexp_dim(none, 0), none), (Doubles{0, 0, 0}));
  const Expression some = vector({-kInf, 0, 0});
  expect_near(values(logsumexp_dim(some, 0)), {std::numbers::ln2});
  expect_near(gradient(logsumexp_dim(some, 0), some), {0, 0.5, 0.5});
  const Expression mixed = vector({-kInf, kInf, 1, kInf});
  EXPECT_EQ(values(logsumexp_dim(mixed, 0)), Doubles{kInfinity});
  EXPECT_EQ(gradient(logsumexp_dim(mixed, 0), mixed), (Doubles{0, 0.5, 0, 0.5}));
}

TEST_P(OpEdgesTest, LogSigmoidOfLargeNumbers) {
  const Expression x = vector({1e4f, -1e4f, kInf, -kInf, 0});
  const Expression y = log_sigmoid(x);
  expect_near(values(y), {0, -1e4, 0, -kInfinity, -std::numbers::ln2});
  expect_near(gradient(y, x), {0, 1, 0, 1, 0.5});
}

TEST_P(OpEdgesTest, SoftmaxOfLargeNumbers) {
  for (const unsigned n : {3u, 40u}) {  // two ways to compute it
    Floats numbers(n, -1e30f);
    numbers[0] = numbers[2] = 1e30f;
    Doubles half(n, 0.0);
    half[0] = half[2] = 0.5;
    const Expression x = vector(numbers);
    expect_near(values(softmax(x)), half);
    expect_near(gradient(pick(softmax(x), 0), x), [&] {
      Doubles slopes(n, 0.0);
      slopes[0] = 0.25;
      slopes[2] = -0.25;
      return slopes;
    }());
    const Doubles logarithms = values(log_softmax(x));
    EXPECT_NEAR(logarithms[0], -std::numbers::ln2, 1e-6);
    EXPECT_EQ(logarithms[1], -2 * static_cast<double>(1e30f));
    for (double& part : half) part = -part;
    half[0] += 1;
    expect_near(gradient(pick(log_softmax(x), 0), x), half);
  }
}

TEST_P(OpEdgesTest, SoftmaxWithImpossibleClasses) {
  for (const unsigned n : {3u, 40u}) {
    Floats numbers(n, -kInf);
    numbers[0] = numbers[2] = 1;
    Doubles half(n, 0.0);
    half[0] = half[2] = 0.5;
    const Expression x = vector(numbers);
    expect_near(values(softmax(x)), half);
    Doubles logarithms(n, -kInfinity);
    logarithms[0] = logarithms[2] = -std::numbers::ln2;
    expect_near(values(log_softmax(x)), logarithms);
    for (double& part : half) part = -part;
    half[0] += 1;
    expect_near(gradient(pick(log_softmax(x), 0), x), half);
    for (double& part : half) part = -part;
    expect_near(values(pickneglogsoftmax(x, 0)), {std::numbers::ln2});
    expect_near(gradient(pickneglogsoftmax(x, 0), x), half);
  }
}

// The loss is that of log_softmax, however large the numbers.
TEST_P(OpEdgesTest, LossOfLargeNumbers) {
  for (const unsigned n : {3u, 40u}) {
    for (const float huge : {1e4f, 1e30f}) {
      Floats numbers(n, -huge);
      numbers[0] = numbers[2] = huge;
      const Expression x = vector(numbers);
      expect_near(values(pickneglogsoftmax(x, 2)), {std::numbers::ln2});
      Doubles slopes(n, 0.0);
      slopes[0] = 0.5;
      slopes[2] = -0.5;
      expect_near(gradient(pickneglogsoftmax(x, 2), x), slopes);
      expect_near(values(pickneglogsoftmax(x, 1)),
                  {2 * static_cast<double>(huge) + std::numbers::ln2});
    }
  }
}

TEST_P(OpEdgesTest, BinaryLogLossOfCertainty) {
  const Expression x = vector({0, 1}), y = vector({0, 1});
  EXPECT_EQ(values(binary_log_loss(x, y)), Doubles{0});
  EXPECT_EQ(gradient(binary_log_loss(x, y), x), (Doubles{0, 0}));
}

// Also where it is only partly wrong. Slopes are those of the smallest normal number, and of one
// epsilon below 1.
TEST_P(OpEdgesTest, BinaryLogLossOfWrongCertaintyIsFinite) {
  const bool single = GetParam() == DType::f32;
  const double least = single ? static_cast<double>(std::numeric_limits<float>::min())
                              : std::numeric_limits<double>::min();
  const double gap = single ? static_cast<double>(std::numeric_limits<float>::epsilon())
                            : std::numeric_limits<double>::epsilon();
  for (const float y : {0.0f, 0.25f, 1.0f}) {
    const Expression target = vector({y}), zero = vector({0}), one = vector({1});
    if (y != 0) {
      expect_near(values(binary_log_loss(zero, target)), {-std::log(least)});
      expect_near(gradient(binary_log_loss(zero, target), zero), {-static_cast<double>(y) / least});
    }
    if (y != 1) {
      expect_near(values(binary_log_loss(one, target)), {-std::log(least)});
      expect_near(gradient(binary_log_loss(one, target), one),
                  {static_cast<double>(1 - y) / gap - static_cast<double>(y)});
    }
    expect_near(gradient(binary_log_loss(zero, target), target), {-std::log(least)});
    expect_near(gradient(binary_log_loss(one, target), target), {std::log(least)});
  }
}

// ----------------------------------------------------------------- equal numbers and zeros

TEST_P(OpEdgesTest, DeviationsOfConstantsAreZero) {
  for (const float number : {0.0f, 0.1f, -1e-20f, 12345.678f}) {
    for (const unsigned n : {1u, 3u, 7u, 49u}) {
      SCOPED_TRACE(std::to_string(number) + ", " + std::to_string(n) + " rows");
      const Expression x = input(graph_, Dim({n, 2}, 3), Floats(n * 6, number));
      const Doubles zeros(n * 6, 0.0);
      for (const Expression& y : {std_elems(x), std_dim(x, {0}), std_dim(x, {1}),
                                  std_dim(x, {0, 1}, true), std_batches(x)}) {
        EXPECT_EQ(values(y), Doubles(y.dim().size(), 0.0));
        EXPECT_EQ(gradient(y, x), zeros);
      }
    }
  }
}

TEST_P(OpEdgesTest, LayerNormOfAConstantColumnIsItsBias) {
  for (const float number : {0.0f, 0.1f, 12345.678f}) {
    for (const unsigned n : {2u, 3u, 7u, 49u}) {
      const Expression x = vector(Floats(n, number));
      const Expression g = vector(Floats(n, 3)), b = vector(Floats(n, 0.5f));
      const Expression y = layer_norm(x, g, b);
      EXPECT_EQ(values(y), Doubles(n, 0.5)) << number << ", " << n;
      graph_.backward(sum_elems(y), true);
      for (const Expression& each : {x, g, b}) EXPECT_TRUE(each.gradient().is_valid());
      EXPECT_EQ(as_doubles(g.gradient()), Doubles(n, 0.0));
    }
  }
}

TEST_P(OpEdgesTest, NormsOfZeros) {
  const Expression x = vector({0, 0, 0}), g = vector({2});
  EXPECT_EQ(values(l2_norm(x)), Doubles{0});
  EXPECT_EQ(gradient(l2_norm(x), x), (Doubles{0, 0, 0}));
  for (double each : values(weight_norm(x, g))) EXPECT_TRUE(std::isnan(each)) << each;
}

TEST_P(OpEdgesTest, SquareRootIsVerticalAtZero) {
  const Expression x = vector({0, 4});
  EXPECT_EQ(values(sqrt(x)), (Doubles{0, 2}));
  EXPECT_EQ(gradient(sqrt(x), x), (Doubles{kInfinity, 0.25}));
}

TEST_P(OpEdgesTest, PowersOfZero) {
  const Expression x = vector({0, 0, 0, 0, 0}), y = vector({0, 1, 2, 0.5f, -1});
  EXPECT_EQ(values(pow(x, y)), (Doubles{1, 0, 0, 0, kInfinity}));
  EXPECT_EQ(gradient(pow(x, y), x), (Doubles{0, 1, 0, kInfinity, -kInfinity}));
  EXPECT_EQ(gradient(pow(x, y), y), (Doubles{0, 0, 0, 0, -kInfinity}));
}

TEST_P(OpEdgesTest, DivisionByZero) {
  const Expression x = vector({1, -1, 0}), y = vector({0, 0, 0});
  const Doubles quotients = values(cdiv(x, y));
  EXPECT_EQ(quotients[0], kInfinity);
  EXPECT_EQ(quotients[1], -kInfinity);
  EXPECT_TRUE(std::isnan(quotients[2]));
  EXPECT_EQ(gradient(cdiv(x, y), x), Doubles(3, kInfinity));
  EXPECT_FALSE(cdiv(x, y).value().is_valid());
}

// --------------------------------------------------------------------------------- matrices

TEST_P(OpEdgesTest, MatricesOfOneElement) {
  const Expression x = matrix(1, {4});
  EXPECT_EQ(values(inverse(x)), Doubles{0.25});
  EXPECT_EQ(gradient(inverse(x), x), Doubles{-0.0625});
  expect_near(values(logdet(x)), {std::log(4.0)});
  EXPECT_EQ(gradient(logdet(x), x), Doubles{0.25});
  EXPECT_EQ(values(inverse(vector({0}))), Doubles{kInfinity});
  EXPECT_EQ(values(logdet(vector({0}))), Doubles{-kInfinity});
  EXPECT_TRUE(std::isnan(values(logdet(vector({-1})))[0]));
}

TEST_P(OpEdgesTest, SingularMatrices) {
  for (const unsigned n : {2u, 3u, 20u}) {
    const Expression x = matrix(n, Floats(n * n, 1));
    EXPECT_FALSE(inverse(x).value().is_valid());
    EXPECT_EQ(values(logdet(x)), Doubles{-kInfinity});
    for (const Expression& y : {inverse(x), logdet(x)}) {
      graph_.backward(sum_elems(y), true);
      EXPECT_FALSE(x.gradient().is_valid());
    }
  }
}

TEST_P(OpEdgesTest, TheSignOfADeterminant) {
  expect_near(values(logdet(matrix(2, {-2, 0, 0, -3}))), {std::log(6.0)});
  EXPECT_TRUE(std::isnan(values(logdet(matrix(2, {2, 0, 0, -3})))[0]));
  EXPECT_TRUE(std::isnan(values(logdet(matrix(2, {0, 1, 1, 0})))[0])) << "rows exchanged";
  const Expression rotated = matrix(3, {0, 1, 0, 0, 0, 1, 1, 0, 0});  // twice exchanged
  EXPECT_EQ(values(logdet(rotated)), Doubles{0});
  EXPECT_EQ(values(inverse(rotated)), values(transpose(rotated)));
}

// ---------------------------------------------------------------------------- ties and kinks

TEST_P(OpEdgesTest, TheFirstOfEqualElementsWins) {
  const Expression x = vector({1, 3, 3, 2, 3});
  EXPECT_EQ(gradient(max_dim(x), x), (Doubles{0, 1, 0, 0, 0}));
  EXPECT_EQ(gradient(min_dim(-x), x), (Doubles{0, -1, 0, 0, 0}));
  EXPECT_EQ(values(argmax(x, GradientMode::zero_gradient)), (Doubles{0, 1, 0, 0, 0}));
  EXPECT_EQ(values(kmax_pooling(x, 2, 0)), (Doubles{3, 3}));
  EXPECT_EQ(gradient(kmax_pooling(x, 2, 0), x), (Doubles{0, 1, 1, 0, 0}));
  const Expression a = vector({2}), b = vector({2});
  EXPECT_EQ(gradient(max(a, b), a), Doubles{1});
  EXPECT_EQ(gradient(max(a, b), b), Doubles{0});
}

TEST_P(OpEdgesTest, HuberDistanceAtItsKinks) {
  const Expression x = vector({0, 2, -2, kInf}), y = vector({0, 0, 0, 0});
  EXPECT_EQ(values(huber_distance(pick_range(x, 0, 3), pick_range(y, 0, 3), 2)), Doubles{4});
  EXPECT_EQ(values(huber_distance(x, y, 2)), Doubles{kInfinity});
  EXPECT_EQ(gradient(huber_distance(x, y, 2), x), (Doubles{0, 2, -2, 2}));
}

// Terms of 2e10 leave a loss of 11: a float would have no digit of it.
TEST_P(OpEdgesTest, PoissonLossOfLargeCounts) {
  const double count = 1e9;
  const Expression x = vector({static_cast<float>(std::log(count))});
  const double rate = values(x)[0];
  const double expected = std::exp(rate) - count * rate + std::lgamma(count + 1);
  EXPECT_NEAR(values(poisson_loss(x, 1'000'000'000))[0], expected, 2e-5);
}

TEST_P(OpEdgesTest, PoissonLossOfNothing) {
  const Expression x = vector({-kInf});
  EXPECT_EQ(values(poisson_loss(x, 0)), Doubles{0});
  EXPECT_EQ(gradient(poisson_loss(x, 0), x), Doubles{0});
  EXPECT_EQ(values(poisson_loss(x, 1)), Doubles{kInfinity});
}

}  // namespace
}  // namespace dynet_like

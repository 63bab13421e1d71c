// Draws of random numbers and from a softmax, and the gamma function: computed by the library
// itself, so that all devices agree; here against long double.
#include <numbers>

#include "dynet_like/ops/draws.h"
#include "dynet_like/ops/gamma_function.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

using Long = long double;

// In units in the last place of a double.
double error(double got, Long exact) {
  const double size = std::abs(static_cast<double>(exact));
  const double unit = std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
  return static_cast<double>(std::abs(static_cast<Long>(got) - exact)) / unit;
}

TEST(DrawsTest, LogarithmsHaveAllDigits) {
  for (std::uint32_t k = 0; k < 1u << 24; k += 37) {
    const double x = draws::open(k << 8), y = draws::natural_log(x);
    ASSERT_LT(error(y, std::log(static_cast<Long>(x))), 1) << x;
    ASSERT_LT(error(draws::natural_log(-y), std::log(-static_cast<Long>(y))), 1) << -y;
  }
  EXPECT_EQ(draws::natural_log(1), 0);
}

TEST(DrawsTest, PointsLieOnTheCircle) {
  constexpr Long kStep = 2 * std::numbers::pi_v<Long> / (1 << 24);
  for (std::uint32_t k = 0; k < 1u << 22; k += 11) {  // a quarter
    const bool is_small = k < 1u << 21;
    const Long rest = kStep * (is_small ? k : (1u << 22) - k);
    const Long x = is_small ? std::cos(rest) : std::sin(rest);
    const Long y = is_small ? std::sin(rest) : std::cos(rest);
    const draws::Point point = draws::on_circle(k);
    ASSERT_LT(error(point.x, x), 2) << k;
    ASSERT_LT(error(point.y, y), 2) << k;
    const draws::Point left = draws::on_circle(k + (1u << 22)),
                       across = draws::on_circle(k + (1u << 23)),
                       below = draws::on_circle(k + 3 * (1u << 22));
    ASSERT_TRUE(left.x == -point.y && left.y == point.x) << k;
    ASSERT_TRUE(across.x == -point.x && across.y == -point.y) << k;
    ASSERT_TRUE(below.x == point.y && below.y == -point.x) << k;
  }
}

// They are the same on every device and with every compiler.
TEST(DrawsTest, BitsAreFixed) {
  std::uint64_t sum = 0;
  for (std::uint32_t b = 0; b < 1000; ++b) {
    const draws::Words words = philox({b, 0, 5, 2}, 7 ^ 3 * 0x9E3779B97F4A7C15u);
    for (unsigned w = 0; w < 4; ++w) {
      for (const double x :
           {draws::Uniform::draw(words, w, -0.3, 1.7), draws::Normal::draw(words, w, 0.1, 1.3),
            draws::Bernoulli::draw(words, w, 0.3, 2.5), draws::Gumbel::draw(words, w, 0.7, 1.1)}) {
        sum = sum * 0x9E3779B97F4A7C15u + std::bit_cast<std::uint64_t>(x);
      }
    }
  }
  EXPECT_EQ(sum, 17402972380435544971u);
}

TEST(GammaFunctionTest, HasAllDigitsForPositiveNumbers) {
  for (Long x = 1e-3L; x < 1e6L; x *= 1.0003L) {
    const double at = static_cast<double>(x);
    ASSERT_LT(error(formulas::special::log_gamma(at), std::lgamma(static_cast<Long>(at))), 5) << at;
  }
  // Where it is zero.
  for (const double root : {1.0, 2.0}) {
    EXPECT_EQ(formulas::special::log_gamma(root), 0);
    for (double step = 1e-15; step < 0.3; step *= 1.01) {
      for (const double at : {root - step, root + step}) {
        ASSERT_LT(error(formulas::special::log_gamma(at), std::lgamma(static_cast<Long>(at))), 5)
            << at;
      }
    }
  }
}

// digamma(x) by its asymptotic series at x + 40.
Long digamma(Long x) {
  Long sum = 0;
  for (int i = 0; i < 40; ++i, x += 1) sum -= 1 / x;
  const Long y = 1 / (x * x);
  return sum + std::log(x) - 1 / (2 * x) -
         y * (1 / 12.0L - y * (1 / 120.0L - y * (1 / 252.0L - y * (1 / 240.0L - y / 132))));
}

TEST(GammaFunctionTest, DigammaHasAllDigitsForPositiveNumbers) {
  for (Long x = 1e-3L; x < 1e4L; x *= 1.0003L) {
    const double at = static_cast<double>(x);
    if (std::abs(at - 1.4616321449683623) < 1e-2) continue;  // this reference has no digits there
    ASSERT_LT(error(formulas::special::digamma(at), digamma(static_cast<Long>(at))), 6) << at;
  }
  // Near its root r it is (x - r) times a slope of 0.9677, that of the trigamma function.
  const double near_root = 1.4616321449683625;
  EXPECT_NEAR(formulas::special::digamma(near_root), 1.22454e-16, 1e-20);
}

TEST(GammaFunctionTest, NegativeNumbersAndPoles) {
  using formulas::special::log_gamma;
  for (double x = -20.9; x < 0; x += 0.0137) {
    const double exact = static_cast<double>(std::lgamma(static_cast<Long>(x)));
    ASSERT_NEAR(log_gamma(x), exact, 2e-14 * std::max(1.0, std::abs(exact))) << x;
  }
  for (const double pole : {-0.0, 0.0, -1.0, -2.0, -1e20}) {
    EXPECT_EQ(log_gamma(pole), std::numeric_limits<double>::infinity()) << pole;
    EXPECT_TRUE(std::isnan(formulas::special::digamma(pole))) << pole;
  }
  EXPECT_NEAR(formulas::special::digamma(-0.25), 2.9141391202135278, 1e-14);
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();

Tensor column(std::vector<float>& values) {
  return {Dim({static_cast<unsigned>(values.size())}), values.data()};
}

TEST(DrawTest, HasTheFrequenciesOfTheSoftmax) {
  std::vector<float> scores = {1000, -kInfinity, 1001, 999.5f, 900};
  Random random(3);
  constexpr unsigned kDraws = 100'000;
  std::vector<unsigned> counts(scores.size());
  for (unsigned i = 0; i < kDraws; ++i) ++counts[draw_from_softmax(column(scores), random)];
  const double total = 1 + std::exp(1.0) + std::exp(-0.5);
  const auto expect = [&](unsigned place, double probability) {
    const double deviation = std::sqrt(probability * (1 - probability) / kDraws);
    EXPECT_NEAR(counts[place] / double{kDraws}, probability, 5 * deviation) << place;
  };
  expect(0, 1 / total);
  expect(2, std::exp(1.0) / total);
  expect(3, std::exp(-0.5) / total);
  EXPECT_EQ(counts[1] + counts[4], 0u);
}

TEST(DrawTest, TakesOneNumberWhichDecides) {
  std::vector<float> scores = {0, 1, 2, 3, 4, 5};
  Random first(5), second(5);
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(draw_from_softmax(column(scores), first), draw_from_softmax(column(scores), second));
    EXPECT_EQ(first.position(), i + 1);
  }
  std::vector<double> doubles(scores.begin(), scores.end());
  Random third(5), fourth(5);
  for (unsigned i = 0; i < 20; ++i) {
    EXPECT_EQ(draw_from_softmax(Tensor(Dim({6}), doubles.data()), third),
              draw_from_softmax(column(scores), fourth));
  }
}

// The smallest number of all draws the first that has a probability.
TEST(DrawTest, NothingDrawsTheImpossible) {
  constexpr std::uint64_t kSeed = 1, kPositionOfZero = 4569696;
  ASSERT_EQ(Random(kSeed, kPositionOfZero).uniform(), 0);
  for (std::size_t first = 0; first < 4; ++first) {
    std::vector<float> scores(4, -kInfinity);
    for (std::size_t i = first; i < scores.size(); ++i) scores[i] = static_cast<float>(i);
    Random random(kSeed, kPositionOfZero);
    EXPECT_EQ(draw_from_softmax(column(scores), random), first);
  }
}

TEST(DrawTest, AmongSomePlaces) {
  std::vector<float> scores = {9, 1, 2, 9, 1.5f};
  Random random(3), other(3);
  std::vector<float> alone = {1.5f, 1};
  for (unsigned i = 0; i < 100; ++i) {
    const unsigned drawn = draw_from_softmax(column(scores), {4, 1}, random);
    EXPECT_EQ(drawn, draw_from_softmax(column(alone), other) == 0 ? 4u : 1u);
  }
}

TEST(DrawTest, NeedsScores) {
  std::vector<float> none, nothing = {-kInfinity, -kInfinity}, nan = {1, NAN};
  std::vector<float> infinite = {1, kInfinity};
  Random random(1);
  EXPECT_THROW(draw_from_softmax(column(nothing), random), NumericError);
  EXPECT_THROW(draw_from_softmax(column(nan), random), NumericError);
  EXPECT_THROW(draw_from_softmax(column(infinite), random), NumericError);
  EXPECT_THROW(draw_from_softmax(column(nan), {0, 2}, random), ShapeError);
  EXPECT_THROW(draw_from_softmax(column(nan), std::vector<unsigned>(), random), ShapeError);
  EXPECT_THROW(draw_from_softmax(Tensor(Dim({0}), none.data()), random), ShapeError);
  EXPECT_EQ(draw_from_softmax(column(nan), {0}, random), 0u);
}

TEST(ArgmaxTest, OfSomePlaces) {
  std::vector<float> values = {5, 1, 3, 3, NAN};
  EXPECT_EQ(argmax(column(values)), 4u);
  EXPECT_EQ(argmax(column(values), {1, 3, 2}), 2u);
  EXPECT_EQ(argmax(column(values), {3, 0}), 0u);
  EXPECT_EQ(argmax(column(values), {0, 4}), 4u);
  EXPECT_THROW(argmax(column(values), {0, 5}), ShapeError);
  EXPECT_THROW(argmax(column(values), std::vector<unsigned>()), ShapeError);
}

}  // namespace
}  // namespace dynet_like

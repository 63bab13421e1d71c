// Norms, deviations and what divides by them: of equal numbers, of zeros, of huge and of tiny
// numbers.
#include "dynet_like/ops/structured.h"
#include "tests/ops/edges.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class OpNormsTest : public OpEdges {};

INSTANTIATE_TEST_SUITE_P(All, OpNormsTest, kBothTypes, name_of_type);

TEST_P(OpNormsTest, DeviationsOfConstantsAreZero) {
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

TEST_P(OpNormsTest, LayerNormOfAConstantColumnIsItsBias) {
  for (const float number : {0.0f, 0.1f, 12345.678f, 1e30f}) {
    for (const unsigned n : {1u, 2u, 3u, 7u, 49u}) {
      const Expression x = vector(Floats(n, number));
      const Expression g = vector(Floats(n, 3)), b = vector(Floats(n, 0.5f));
      const Expression y = layer_norm(x, g, b);
      EXPECT_EQ(values(y), Doubles(n, 0.5)) << number << ", " << n;
      graph_.backward(pick(y, n / 2), true);
      EXPECT_EQ(as_doubles(x.gradient()), Doubles(n, 0.0));
      EXPECT_EQ(as_doubles(g.gradient()), Doubles(n, 0.0));
      EXPECT_EQ(as_doubles(b.gradient())[n / 2], 1);
    }
  }
}

TEST_P(OpNormsTest, NormsOfZeros) {
  const Expression x = vector({0, 0, 0}), g = vector({2}), gains = vector({2, 2, 2});
  EXPECT_EQ(values(rms_norm(x, gains)), (Doubles{0, 0, 0}));
  EXPECT_EQ(gradient(sum_elems(rms_norm(x, gains)), x), (Doubles{0, 0, 0}));
  EXPECT_EQ(values(l2_norm(x)), Doubles{0});
  EXPECT_EQ(gradient(l2_norm(x), x), (Doubles{0, 0, 0}));
  for (double each : values(weight_norm(x, g))) EXPECT_TRUE(std::isnan(each)) << each;
}

// Along any dimension, of values that others read before or behind: all slopes add up.
TEST_P(OpNormsTest, OfValuesThatOthersReadToo) {
  Random random(5);
  const Dim dims[] = {Dim({7}), Dim({3, 5}), Dim({5, 3}, 2), Dim({20, 6}), Dim({4, 2, 9}, 3)};
  for (unsigned round = 0; round < 200; ++round) {
    const Dim& dim = dims[random.below(5)];
    const std::uint32_t axis = random.below(dim.nd);
    Floats numbers(dim.size());
    for (float& number : numbers) number = static_cast<float>(1 + random.uniform());
    const Expression x = input(graph_, dim, numbers);
    std::vector<Expression> terms;
    unsigned squares = 0, norms = 0, means = 0;
    for (unsigned readers = 1 + random.below(4); readers > 0; --readers) {
      const unsigned kind = random.below(3);
      ++(kind == 0 ? squares : kind == 1 ? norms : means);
      const Op& op = kind == 1 ? ops::norm_dim : ops::rms_dim;
      const Expression y = kind == 0 ? square(x) : apply_op(op, {x}, {axis});
      terms.push_back(sum_batches(sum_elems(y)));
    }
    graph_.backward(sum(terms), true);
    const Doubles got = as_doubles(x.gradient());
    std::size_t inner = 1;
    for (std::uint32_t d = 0; d < axis; ++d) inner *= dim[d];
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::size_t first = i / (inner * dim[axis]) * inner * dim[axis] + i % inner;
      double sum = 0;
      for (std::size_t k = 0; k < dim[axis]; ++k) {
        const auto number = static_cast<double>(numbers[first + k * inner]);
        sum += number * number;
      }
      const double own = static_cast<double>(numbers[i]), slope = own / std::sqrt(sum);
      const double expected = squares * 2 * own + norms * slope +
                              means * slope / std::sqrt(static_cast<double>(dim[axis]));
      ASSERT_NEAR(got[i], expected, 1e-5) << to_string(dim) << " along " << axis << ", " << i;
    }
  }
}

// Squares of these are infinite, or zero.
TEST_P(OpNormsTest, NumbersWhoseSquaresAreNone) {
  for (const float size : {1.0f, 1e30f, 3e37f, 1e-30f, 1e-42f}) {
    SCOPED_TRACE(size);
    const double unit = static_cast<double>(size), root = std::sqrt(2.0 / 3);
    const Expression x = vector({-size, 0, size}), g = vector({1, 1, 1}), b = vector({0, 0, 0});
    const double exact = size < 1e-38f ? 1e-2 * unit : 0;  // what a denormal number is rounded by
    const auto is_close = [&](const Expression& y, double expected) {
      EXPECT_NEAR(values(y)[0], expected, 1e-6 * std::abs(expected) + exact);
    };
    is_close(l2_norm(x), std::sqrt(2.0) * unit);
    is_close(std_elems(x), root * unit);
    is_close(std_dim(x, {0}), root * unit);
    is_close(std_dim(x, {0}, false, 3), root * unit);
    const Doubles slopes = gradient(l2_norm(x), x);
    EXPECT_NEAR(slopes[0], -std::sqrt(0.5), 2e-3);
    EXPECT_EQ(slopes[1], 0);
    EXPECT_NEAR(slopes[2], std::sqrt(0.5), 2e-3);
    const Expression one = vector({1});
    EXPECT_NEAR(values(weight_norm(x, one))[2], std::sqrt(0.5), 2e-3);
    if (size < 1) continue;  // layer_norm calls differences of 1e-12 and less none
    EXPECT_NEAR(values(layer_norm(x, g, b))[0], -std::sqrt(1.5), 1e-6);
    EXPECT_NEAR(values(layer_norm(x, g, b))[2], std::sqrt(1.5), 1e-6);
    EXPECT_NEAR(values(rms_norm(x, g))[2], std::sqrt(1.5), 1e-6);
    // y2 = (x2 - mean) / deviation moves with x1 alone: the others keep it where it is.
    const Doubles of_last = gradient(pick(layer_norm(x, g, b), 2), x);
    EXPECT_NEAR(of_last[0] * unit, std::sqrt(1.5) / 6, 1e-6);
    EXPECT_NEAR(of_last[1] * unit, -std::sqrt(1.5) / 3, 1e-6);
    EXPECT_NEAR(of_last[2] * unit, std::sqrt(1.5) / 6, 1e-6);
  }
}

// Side by side, lines of all sizes do not disturb each other.
TEST_P(OpNormsTest, LinesOfDifferentSizes) {
  const unsigned lines = 35;
  Floats numbers;
  for (unsigned k = 0; k < 2; ++k) {
    for (unsigned l = 0; l < lines; ++l) {
      const float unit = l % 5 == 0 ? 1e30f : l % 5 == 1 ? 1e-30f : l % 5 == 2 ? 0.0f : 1.0f;
      numbers.push_back(unit * static_cast<float>(k == 0 ? 3 : 4));
    }
  }
  const Expression x = input(graph_, Dim({lines, 2}), numbers);
  const Doubles deviations = values(std_dim(x, {1})), slopes = gradient(std_dim(x, {1}), x);
  for (unsigned l = 0; l < lines; ++l) {
    const double unit = static_cast<double>(numbers[l]) / 3;
    EXPECT_NEAR(deviations[l], unit / 2, 1e-6 * unit) << l;
    EXPECT_NEAR(slopes[l], unit == 0 ? 0 : -0.5, 1e-6) << l;
    EXPECT_NEAR(slopes[l + lines], unit == 0 ? 0 : 0.5, 1e-6) << l;
  }
}

TEST_P(OpNormsTest, InfiniteAndUndefinedNumbers) {
  EXPECT_EQ(values(l2_norm(vector({1, -kInf, 3}))), Doubles{kInfinity});
  EXPECT_TRUE(std::isnan(values(l2_norm(vector({1, kNan, 3})))[0]));
  EXPECT_TRUE(std::isnan(values(l2_norm(vector({kInf, kNan})))[0]));
  const Expression x = vector({1, kNan});
  EXPECT_TRUE(std::isnan(gradient(l2_norm(x), x)[0]));
}

// What is one number is its own norm, but for the sign.
TEST_P(OpNormsTest, OfOneNumber) {
  const Expression x = vector({-3});
  EXPECT_EQ(values(l2_norm(x)), Doubles{3});
  EXPECT_EQ(gradient(l2_norm(x), x), Doubles{-1});
  EXPECT_EQ(values(std_batches(x)), Doubles{0});
  EXPECT_EQ(values(std_dim(x, {}, true, 4)), Doubles{1.125});  // |x - x / 4| / sqrt(4)
}

}  // namespace
}  // namespace dynet_like

// Operations where their formulas end: infinite, huge and vanishing numbers; in float and in
// double. extremes_test.cpp does the same for elementwise operations.
#include "tests/ops/edges.h"

#include <numbers>

#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class OpEdgesTest : public OpEdges {};

INSTANTIATE_TEST_SUITE_P(All, OpEdgesTest, kBothTypes, name_of_type);

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

TEST_P(OpEdgesTest, LargestOfNothingButInfinities) {
  for (const unsigned n : {1u, 3u, 8u, 16u, 50u}) {
    const Expression x = vector(std::vector<float>(n, -kInf));
    EXPECT_EQ(values(max_dim(x)), Doubles{-kInfinity}) << n;
    EXPECT_EQ(values(logsumexp_dim(x, 0)), Doubles{-kInfinity}) << n;
  }
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
    EXPECT_EQ(values(softmax(x)), half);
    Doubles logarithms(n, -kInfinity);
    logarithms[0] = logarithms[2] = -std::numbers::ln2;
    expect_near(values(log_softmax(x)), logarithms);
    for (double& part : half) part = -part;
    half[0] += 1;
    expect_near(gradient(pick(log_softmax(x), 0), x), half);
    for (double& part : half) part = -part;
    expect_near(values(cross_entropy(x, 0)), {std::numbers::ln2});
    expect_near(gradient(cross_entropy(x, 0), x), half);
  }
}

// The loss is that of log_softmax, however large the numbers.
TEST_P(OpEdgesTest, LossOfLargeNumbers) {
  for (const unsigned n : {3u, 40u}) {
    for (const float huge : {1e4f, 1e30f}) {
      Floats numbers(n, -huge);
      numbers[0] = numbers[2] = huge;
      const Expression x = vector(numbers);
      expect_near(values(cross_entropy(x, 2)), {std::numbers::ln2});
      Doubles slopes(n, 0.0);
      slopes[0] = 0.5;
      slopes[2] = -0.5;
      expect_near(gradient(cross_entropy(x, 2), x), slopes);
      expect_near(values(cross_entropy(x, 1)), {2 * static_cast<double>(huge) + std::numbers::ln2});
    }
  }
}

TEST_P(OpEdgesTest, LogSoftmaxOverSomeClasses) {
  const Expression x = vector({1, kInf, 2, -kInf});
  const double other = std::log1p(std::exp(-1.0));
  const auto over = [&](const std::vector<unsigned>& classes) {
    return values(log_softmax(x, classes));
  };
  expect_near(over({0, 2}), {-1 - other, -kInfinity, -other, -kInfinity});
  expect_near(over({2}), {-kInfinity, -kInfinity, 0, -kInfinity});
  EXPECT_EQ(message_of<UsageError>([&] { log_softmax(x, std::vector<unsigned>{}); }),
            "[log_softmax] need at least one class; got none");
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

// What is dropped is 0, whatever it was.
TEST_P(OpEdgesTest, DropoutOfInfinities) {
  GraphOptions options = OpEdges::options();
  options.seed = 5;
  ComputationGraph graph(options);
  const Expression x = input(graph, Dim({64}), Floats(64, -kInf));
  unsigned dropped = 0;
  for (double each : as_doubles(dropout(x, 0.5f).value())) {
    EXPECT_TRUE(each == 0 || each == -kInfinity) << each;
    dropped += each == 0;
  }
  EXPECT_GT(dropped, 16u);
  EXPECT_LT(dropped, 48u);
}

TEST(OpNamesTest, OtherNamesAreTheSameOperations) {
  ComputationGraph graph;
  const Expression x = input(graph, {2, 2}, {1, 2, 3, 4}), y = input(graph, {2, 2}, {5, 6, 7, 8});
  EXPECT_EQ(as_vector(mul(x, y).value()), as_vector(cmult(x, y).value()));
  EXPECT_EQ(as_vector(matmul(x, y).value()), as_vector((x * y).value()));
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

// ----------------------------------------------------------------------------------- losses

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
  const Expression all = vector({kInf});
  EXPECT_EQ(values(poisson_loss(all, 0)), Doubles{kInfinity});
  EXPECT_EQ(values(poisson_loss(all, 3)), Doubles{kInfinity});
}

// ------------------------------------------------------------------------- selections and sums

// A sum of one is that one: no node.
TEST_P(OpEdgesTest, SumsOfOne) {
  const Expression x = vector({-0.0f, 3});
  const std::size_t nodes = graph_.size();
  EXPECT_EQ(sum({x}).i, x.i);
  EXPECT_EQ(average({x}).i, x.i);
  EXPECT_EQ(sum(std::vector<Expression>{x}).i, x.i);
  EXPECT_EQ(average(std::vector<Expression>{x}).i, x.i);
  EXPECT_EQ(graph_.size(), nodes);
  EXPECT_THROW(sum(std::vector<Expression>{}), ShapeError);
  EXPECT_THROW(average(std::vector<Expression>{}), ShapeError);
  graph_.clear();
  EXPECT_THROW(sum({x}), StateError);
  EXPECT_THROW(average({x}), StateError);
}

// At any stride there is one window, and one element.
TEST_P(OpEdgesTest, HugeStrides) {
  constexpr int kHuge = std::numeric_limits<int>::max();
  const Expression x = matrix(3, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(values(strided_select(x, {kHuge, kHuge}, {1, 2})), Doubles{8});
  for (const unsigned stride : {3u, 4u, 1u << 31, ~0u}) {
    EXPECT_EQ(values(maxpooling2d(x, {2, 2}, {stride, stride})), Doubles{5}) << stride;
    EXPECT_EQ(values(maxpooling2d(x, {3, 3}, {stride, stride}, false)), Doubles{9}) << stride;
  }
}

}  // namespace
}  // namespace dynet_like

// sparsemax and constrained_softmax at large, infinite and equal elements, and against the
// conditions that define them.
#include "tests/ops/edges.h"

#include <numeric>

#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class OpProjectionsTest : public OpEdges {};

INSTANTIATE_TEST_SUITE_P(All, OpProjectionsTest, kBothTypes, name_of_type);

double sum_of(const Doubles& x) { return std::accumulate(x.begin(), x.end(), 0.0); }

// Beyond 2^24, x + 1 is x in float; beyond 2^53 in double.
TEST_P(OpProjectionsTest, SparsemaxOfLargeElements) {
  for (const float base : {0.0f, -1e6f, 0x1p24f, 0x1p25f, -0x1p60f, 1e30f, 3e38f}) {
    SCOPED_TRACE(base);
    const Expression x = vector({base, base, 0.5f * base - 1, base});
    const bool is_last = base < 0;  // half of a negative number is larger
    const Doubles expected = is_last ? Doubles{0, 0, 1, 0} : Doubles{1 / 3.0, 1 / 3.0, 0, 1 / 3.0};
    expect_near(values(sparsemax(x)), expected);
    expect_near(gradient(pick(sparsemax(x), 0u), x),
                is_last ? Doubles{0, 0, 0, 0} : Doubles{2 / 3.0, -1 / 3.0, 0, -1 / 3.0});
    EXPECT_NEAR(values(sparsemax_loss(x, {is_last ? 2u : 0u}))[0], is_last ? 0 : 1 / 3.0, 1e-6);
  }
  EXPECT_EQ(values(sparsemax(vector({0x1p24f, 0x1p24f + 2}))), (Doubles{0, 1}));
  EXPECT_EQ(values(sparsemax(vector({0x1p22f, 0x1p22f + 0.5f}))), (Doubles{0.25, 0.75}));
}

TEST_P(OpProjectionsTest, SparsemaxOfManyElements) {
  const unsigned n = 100'000;
  const Expression x = vector(Floats(n, 7));
  const Doubles y = values(sparsemax(x));
  EXPECT_NEAR(y[0], 1.0 / n, 1e-3 / n);
  EXPECT_NEAR(sum_of(y), 1, 1e-3);
}

TEST_P(OpProjectionsTest, SparsemaxOfInfiniteElements) {
  EXPECT_EQ(values(sparsemax(vector({-kInf, 3, -kInf}))), (Doubles{0, 1, 0}));
  EXPECT_EQ(values(sparsemax_loss(vector({-kInf, 3}), {1})), Doubles{0});
  EXPECT_EQ(values(sparsemax_loss(vector({-kInf, 3}), {0})), Doubles{kInfinity});
  // As for softmax, there is no share of what is infinite.
  for (double each : values(sparsemax(vector({kInf, 3})))) EXPECT_TRUE(std::isnan(each));
  for (double each : values(sparsemax(vector({-kInf, -kInf})))) EXPECT_TRUE(std::isnan(each));
}

TEST_P(OpProjectionsTest, SparsemaxOfOneElement) {
  const Expression x = vector({-1e30f});
  EXPECT_EQ(values(sparsemax(x)), Doubles{1});
  EXPECT_EQ(values(sparsemax_loss(x, {0})), Doubles{0});
  EXPECT_EQ(gradient(sparsemax_loss(x, {0}), x), Doubles{0});
}

// What is free are e^x times one factor, what is not stands at its bound; all add up to 1.
TEST_P(OpProjectionsTest, ConstrainedSoftmaxOfDistantElements) {
  for (const float distance : {1.0f, 80.0f, 88.0f, 100.0f, 104.0f, 110.0f, 800.0f, 1e30f}) {
    SCOPED_TRACE(distance);
    const Expression half = vector({0.5f, 0.5f, 0.5f}), x = vector({distance, 0, 0});
    expect_near(values(constrained_softmax(x, half)), {0.5, 0.25, 0.25});
    const Doubles slopes = gradient(pick(constrained_softmax(x, half), 1u), x);
    expect_near(slopes, {0, 0.125, -0.125});
    const Expression bounds = vector({0.5f, 0.5f, 0.25f});
    expect_near(values(constrained_softmax(vector({2 * distance, distance, 0}), bounds)),
                distance == 1 ? Doubles{0.5, 0.5 / (1 + std::exp(-1.0)), 0.5 / (1 + std::exp(1.0))}
                              : Doubles{0.5, 0.5, 0});
  }
}

TEST_P(OpProjectionsTest, ConstrainedSoftmaxInSeveralRounds) {
  const Expression x = vector({300, 200, 100, 0, -100}),
                   bounds = vector({0.5f, 0.25f, 0.125f, 1, 1});
  expect_near(values(constrained_softmax(x, bounds)), {0.5, 0.25, 0.125, 0.125, 0});
  const Expression tight = vector({0.25f, 0.25f, 0.25f, 0.25f});
  EXPECT_EQ(values(constrained_softmax(vector({9, 300, -300, 0}), tight)), Doubles(4, 0.25));
  // Bounds that do not matter.
  const Expression y = vector({1, 2, 3}), ones = vector({1, 1, 1});
  expect_near(values(constrained_softmax(y, ones)), values(softmax(y)));
}

TEST_P(OpProjectionsTest, ConstrainedSoftmaxOfInfiniteElements) {
  const Expression half = vector({0.5f, 0.5f, 0.5f});
  EXPECT_EQ(values(constrained_softmax(vector({-kInf, 1, 1}), half)), (Doubles{0, 0.5, 0.5}));
  EXPECT_EQ(values(constrained_softmax(vector({1, -kInf, -kInf}), half)),
            (Doubles{0.5, 0.25, 0.25}));
  // An undefined bound leaves nothing to share; what is at its own bound is.
  const Doubles y = values(constrained_softmax(vector({1, 2, 3}), vector({0.5f, kNan, 0.5f})));
  EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1]));
  EXPECT_EQ(y[2], 0.5);
}

}  // namespace
}  // namespace dynet_like

// Extremes of equal numbers, of which the first wins, and of NaN, which wins over all numbers.
#include "tests/ops/edges.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class OpNanTest : public OpEdges {};

INSTANTIATE_TEST_SUITE_P(All, OpNanTest, kBothTypes, name_of_type);

TEST_P(OpNanTest, TheFirstOfEqualElementsWins) {
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

// Its values are those of extremes_test.cpp.
TEST_P(OpNanTest, ANanWinsWhereverItStands) {
  for (const unsigned n : {1u, 3u, 40u}) {  // a number, some, and vectors of them
    const Expression one = vector(Floats(n, 1)), nan = vector(Floats(n, kNan));
    for (const double each : values(max({one, nan, one}))) EXPECT_TRUE(std::isnan(each));
    // As the winner it gets the gradient, the first of two.
    EXPECT_EQ(gradient(max(one, nan), nan), Doubles(n, 1));
    EXPECT_EQ(gradient(max(one, nan), one), Doubles(n, 0));
    EXPECT_EQ(gradient(min(nan, one), nan), Doubles(n, 1));
    EXPECT_EQ(gradient(min(nan, one), one), Doubles(n, 0));
    const Expression other = vector(Floats(n, kNan));
    EXPECT_EQ(gradient(max(nan, other), nan), Doubles(n, 1));
    EXPECT_EQ(gradient(max(nan, other), other), Doubles(n, 0));
  }
}

TEST_P(OpNanTest, AlongADimension) {
  const Expression x = vector({5, kNan, 7, kNan, kInf});
  EXPECT_TRUE(std::isnan(values(max_dim(x))[0]));
  EXPECT_TRUE(std::isnan(values(min_dim(x))[0]));
  EXPECT_EQ(gradient(max_dim(x), x), (Doubles{0, 1, 0, 0, 0}));
  EXPECT_EQ(gradient(min_dim(x), x), (Doubles{0, 1, 0, 0, 0}));
  EXPECT_EQ(values(argmax(x, GradientMode::zero_gradient)), (Doubles{0, 1, 0, 0, 0}));
  EXPECT_TRUE(std::isnan(values(kmax_pooling(x, 1, 0))[0]));
  EXPECT_EQ(gradient(kmax_pooling(x, 3, 0), x), (Doubles{0, 1, 0, 1, 1}));
  EXPECT_TRUE(std::isnan(values(logsumexp_dim(x, 0))[0]));
}

TEST_P(OpNanTest, InPoolsAndLosses) {
  for (unsigned place = 0; place < 4; ++place) {
    Floats numbers = {1, 2, 3, 4};
    numbers[place] = kNan;
    const Expression x = matrix(2, numbers);
    EXPECT_TRUE(std::isnan(values(maxpooling2d(x, {2, 2}, {2, 2}))[0])) << place;
    const Expression line = vector(numbers);
    EXPECT_TRUE(std::isnan(values(hinge(line, 1u))[0])) << place;
    for (const Expression& y : {softmax(line), log_softmax(line), sparsemax(line),
                                constrained_softmax(line, vector(Floats(4, 0.5f)))}) {
      for (double each : values(y)) EXPECT_TRUE(std::isnan(each)) << place;
    }
    EXPECT_TRUE(std::isnan(values(cross_entropy(line, 1u))[0]));
    EXPECT_TRUE(std::isnan(values(sparsemax_loss(line, {1}))[0]));
    EXPECT_TRUE(std::isnan(values(pairwise_rank_loss(line, vector({1, 2, 3, 4})))[place]));
    EXPECT_TRUE(std::isnan(values(huber_distance(line, vector({1, 2, 3, 4})))[0]));
  }
}

// Batches of NaN of either sign are batches of NaN.
TEST(OpNanVerification, TheSignOfANanIsNoDifference) {
  GraphOptions options;
  options.verify_batching = true;
  Minibatch batch(options);
  ParameterCollection model;
  const Parameter w = model.add_parameters({37}, ParameterInitConst(1));
  for (int sample = 0; sample < 5; ++sample) {
    ComputationGraph& graph = batch.new_graph();
    const Expression x = input(graph, Dim({37}), Floats(37, sample % 2 == 0 ? kNan : -kNan));
    const Expression y = input(graph, Dim({37}), Floats(37, sample % 3 == 0 ? kNan : -kNan));
    const Expression z = cmult(x + y, parameter(graph, w));
    batch.add_loss(sum_elems(softmax(x - y) + max(cmult(y, x), z) + sum({x, y, -x, z})));
  }
  EXPECT_TRUE(std::isnan(batch.forward()));
  EXPECT_TRUE(std::isnan(batch.backward().values(w)[0]));
}

}  // namespace
}  // namespace dynet_like

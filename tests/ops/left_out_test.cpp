// What operations leave out leaves no trace, were it infinite or NaN, neither in values nor in
// gradients; and what they make of nothing.
#include "tests/ops/edges.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

class OpLeftOutTest : public OpEdges {
 protected:
  /// The gradient of the sum of the squares, which is finite wherever y is.
  Doubles slopes(const Expression& y, const Expression& x) {
    graph_.backward(sum_batches(squared_norm(y)), true);
    return as_doubles(x.gradient());
  }
};

INSTANTIATE_TEST_SUITE_P(All, OpLeftOutTest, kBothTypes, name_of_type);

TEST_P(OpLeftOutTest, ByExtremes) {
  const Expression x = vector({-kInf, 2, -kInf, 1}), y = vector({kInf, 2, kInf, 3});
  EXPECT_EQ(values(max_dim(x)), Doubles{2});
  EXPECT_EQ(slopes(max_dim(x), x), (Doubles{0, 4, 0, 0}));
  EXPECT_EQ(values(min_dim(y)), Doubles{2});
  EXPECT_EQ(slopes(min_dim(y), y), (Doubles{0, 4, 0, 0}));
  EXPECT_EQ(slopes(top_k(x, 2), x), (Doubles{0, 4, 0, 2}));
  EXPECT_EQ(gradient(min(x, y), y), (Doubles{0, 0, 0, 0}));
  const Expression other = vector({1, 5, 7, -kInf});
  EXPECT_EQ(values(max(x, other)), (Doubles{1, 5, 7, 1}));
  EXPECT_EQ(slopes(max(x, other), x), (Doubles{0, 0, 0, 2}));
  EXPECT_EQ(slopes(max(x, other), other), (Doubles{2, 10, 14, 0}));
  EXPECT_EQ(values(argmax(x, GradientMode::zero_gradient)), (Doubles{0, 1, 0, 0}));
  EXPECT_EQ(values(argmax(vector({-kInf, -kInf}), GradientMode::zero_gradient)), (Doubles{1, 0}));
}

TEST_P(OpLeftOutTest, ByExtremesOfPoolsAndSegments) {
  const Expression x = matrix(2, {-kInf, 3, -kInf, -kInf});
  const Expression pool = maxpooling2d(x, {2, 2}, {2, 2});
  EXPECT_EQ(values(pool), Doubles{3});
  EXPECT_EQ(slopes(pool, x), (Doubles{0, 6, 0, 0}));
  const Expression nans = matrix(2, {1, kNan, kNan, kInf});
  EXPECT_EQ(gradient(maxpooling2d(nans, {2, 2}, {2, 2}), nans), (Doubles{0, 1, 0, 0}));
  const Expression largest = segment_max(vector({-kInf, 4, kNan, 2}), {2, 0, 1, 1}, 0);
  const Doubles got = values(largest);
  EXPECT_EQ(got[0], 4);
  EXPECT_EQ(got[1], -kInfinity);
  EXPECT_TRUE(std::isnan(got[2]));
  EXPECT_EQ(got[3], 2);
  const Expression places = vector({5, -kInf, 7, -kInf});
  const Expression scattered = scatter_max(places, {1, 1, 3, 0}, 4, 0);
  EXPECT_EQ(values(scattered), (Doubles{-kInfinity, 5, -kInfinity, 7}));
  EXPECT_EQ(gradient(pick_range(scattered, 1, 2), places), (Doubles{1, 0, 0, 0}));
}

TEST_P(OpLeftOutTest, ByBoundsOfAnInterval) {
  const Expression x = vector({-kInf, -1, 0, 2, 3, kInf});
  const Expression y = clip(x, -1, 2);
  EXPECT_EQ(values(y), (Doubles{-1, -1, 0, 2, 2, 2}));
  EXPECT_EQ(gradient(y, x), (Doubles{0, 1, 1, 1, 0, 0}));
  EXPECT_TRUE(std::isnan(values(clip(vector({kNan}), -1, 2))[0]));
  const Expression none = clip(x, -kInf, kInf);
  EXPECT_EQ(values(none), values(x));
  EXPECT_EQ(gradient(none, x), Doubles(6, 1));
}

TEST_P(OpLeftOutTest, BySelections) {
  const Expression x = matrix(2, {kNan, 2, kInf, 3});
  const Doubles second = {0, 4, 0, 6};
  for (const Expression& y :
       {pick(x, 1), pick_range(x, 1, 2), select_rows(x, {1}), gather(x, {1}),
        strided_select(x, {2, 1}, {1, 0}), reshape(pick_range(transpose(x), 1, 2, 1), {2})}) {
    EXPECT_EQ(values(y), (Doubles{2, 3}));
    EXPECT_EQ(slopes(y, x), second);
  }
  EXPECT_EQ(values(fill_rows(x, {0}, 1)), (Doubles{1, 2, 1, 3}));
  EXPECT_EQ(slopes(fill_rows(x, {0}, 1), x), second);
  EXPECT_EQ(values(fill_other_rows(x, {1}, 1)), (Doubles{1, 2, 1, 3}));
  EXPECT_EQ(slopes(fill_other_rows(x, {1}, 1), x), second);
}

TEST_P(OpLeftOutTest, ByMasksOfASoftmax) {
  for (const float left_out : {kNan, kInf, -kInf, 1e30f}) {
    const Expression x = vector({left_out, 1, 1, left_out});
    const Expression masked = fill_rows(x, {0, 3}, -kInf);
    EXPECT_EQ(values(softmax(masked)), (Doubles{0, 0.5, 0.5, 0}));
    expect_near(slopes(softmax(masked), x), {0, 0, 0, 0});
    expect_near(gradient(cross_entropy(masked, 1), x), {0, -0.5, 0.5, 0});
    expect_near(gradient(pick(log_softmax(masked), 1), x), {0, 0.5, -0.5, 0});
    const Expression some = log_softmax(x, std::vector<unsigned>{1, 2});
    expect_near(gradient(pick(some, 2), x), {0, -0.5, 0.5, 0});
    expect_near(gradient(logsumexp_dim(masked, 0), x), {0, 0.5, 0.5, 0});
    // Divergences of two distributions with the same mask.
    const Expression p = log_softmax(masked), q = log_softmax(fill_rows(2.0f * x, {0, 3}, -kInf));
    expect_near(values(kl_divergence(p, q)), {0});
    expect_near(gradient(kl_divergence(p, q), x), {0, 0, 0, 0});
  }
}

// A probability of 0 over nothing, infinity over one of 1.
TEST_P(OpLeftOutTest, NothingHasNoSoftmax) {
  for (const unsigned n : {1u, 3u, 40u}) {
    const Expression none = vector(Floats(n, -kInf));
    Floats numbers(n, 1);
    numbers.back() = kInf;
    for (const Expression& x : {none, vector(numbers)}) {
      for (const Expression& y : {softmax(x), log_softmax(x)}) {
        for (const double each : values(y)) EXPECT_TRUE(std::isnan(each)) << each;
      }
      EXPECT_TRUE(std::isnan(values(cross_entropy(x, 0u))[0]));
    }
  }
}

// An impossible class has an infinite loss, which moves the others only.
TEST_P(OpLeftOutTest, LossesOfImpossibleClasses) {
  const Expression x = vector({-kInf, 0, 0});
  EXPECT_EQ(values(cross_entropy(x, 0u)), Doubles{kInfinity});
  expect_near(gradient(cross_entropy(x, 0u), x), {-1, 0.5, 0.5});
  EXPECT_EQ(values(-pick(log_softmax(x), 0)), Doubles{kInfinity});
}

// What comes after a query.
TEST_P(OpLeftOutTest, ByCausalAttention) {
  for (const unsigned heads : {1u, 2u}) {
    for (const float later : {kNan, kInf}) {
      const Expression q = input(graph_, Dim({4, 2}), {1, 2, 0, 1, 0, 1, 1, 1});
      const Expression k = input(graph_, Dim({4, 2}), {1, 0, 1, 2, later, 1, 1, later});
      const Expression v = input(graph_, Dim({4, 2}), {1, 2, 3, 4, 5, later, 7, later});
      const Expression first =
          pick_range(attention(q, k, v, {.heads = heads, .causal = true}), 0, 1, 1);
      EXPECT_EQ(values(first), (Doubles{1, 2, 3, 4}));
    }
  }
}

TEST_P(OpLeftOutTest, ByDropout) {
  GraphOptions options = OpEdges::options();
  options.seed = 5;
  ComputationGraph graph(options);
  for (const float number : {kNan, kInf}) {
    const Expression x = input(graph, Dim({64}), Floats(64, number)), y = dropout(x, 0.5f);
    graph.backward(sum_elems(y), true);
    const Doubles dropped = as_doubles(y.value()), slopes = as_doubles(x.gradient());
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(slopes[i], dropped[i] == 0 ? 0 : 2) << i;
    // Masks for many elements at once are products.
    for (const double each : as_doubles(dropout_dim(x, 0, 0.999f).value())) {
      EXPECT_FALSE(std::isfinite(each)) << each;
    }
  }
}

TEST_P(OpLeftOutTest, SumsAndExtremesOfNothing) {
  const Expression x = vector({1, 2});
  EXPECT_EQ(values(segment_sum(x, {0, 2, 0}, 0)), (Doubles{0, 3, 0}));
  EXPECT_EQ(values(segment_mean(x, {0, 2, 0}, 0)), (Doubles{0, 1.5, 0}));
  EXPECT_EQ(values(segment_max(x, {0, 2, 0}, 0)), (Doubles{-kInfinity, 2, -kInfinity}));
  EXPECT_EQ(gradient(segment_mean(x, {0, 2, 0}, 0), x), (Doubles{0.5, 0.5}));
  EXPECT_EQ(gradient(segment_max(x, {0, 2, 0}, 0), x), (Doubles{0, 1}));
  EXPECT_EQ(values(segment_softmax(x, {1, 0, 1}, 0)), (Doubles{1, 1}));
  EXPECT_EQ(values(scatter_add(x, {2, 2}, 3, 0)), (Doubles{0, 0, 3}));
  EXPECT_EQ(values(scatter_max(x, {2, 2}, 3, 0)), (Doubles{-kInfinity, -kInfinity, 2}));
}

// Infinity in one segment stays there.
TEST_P(OpLeftOutTest, SegmentsDoNotMeet) {
  const Expression x = vector({kInf, 1, 3, kNan});
  const Doubles sums = values(segment_sum(x, {1, 2, 1}, 0));
  EXPECT_EQ(sums[0], kInfinity);
  EXPECT_EQ(sums[1], 4);
  const Expression weights = segment_softmax(x, {1, 2, 1}, 0);
  const double share = 1 / (1 + std::exp(2.0));
  expect_near(values(pick_range(weights, 1, 3)), {share, 1 - share});
  const Expression y = pick(segment_sum(x, {1, 2, 1}, 0), 1);
  EXPECT_EQ(gradient(y, x), (Doubles{0, 1, 1, 0}));
  const Expression places = pick(scatter_add(x, {0, 1, 1, 2}, 3, 0), 1);
  EXPECT_EQ(values(places), Doubles{4});
  EXPECT_EQ(gradient(places, x), (Doubles{0, 1, 1, 0}));
}

TEST_P(OpLeftOutTest, MeansOverflowAsTheirSumsDo) {
  const float most = std::numeric_limits<float>::max();
  const Expression large = vector({most, most});
  const bool single = GetParam() == DType::f32;
  const double mean = single ? kInfinity : static_cast<double>(most);
  EXPECT_EQ(values(mean_elems(large)), Doubles{mean});
  EXPECT_EQ(values(average({large, large}))[0], mean);
}

}  // namespace
}  // namespace dynet_like

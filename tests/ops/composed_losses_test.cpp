// Losses, similarities and choices that are made of operations.
#include <cmath>
#include <functional>
#include <limits>

#include "tests/ops/composed_function.h"

#include "dynet_like/core/errors.h"
#include "tests/support/message_of.h"

namespace dynet_like {
namespace {

using Inputs = const std::vector<Doubles>&;

double dot(const Doubles& x, const Doubles& y, std::size_t from, std::size_t n) {
  double sum = 0;
  for (std::size_t i = from; i < from + n; ++i) sum += x[i] * y[i];
  return sum;
}
double squared_length(const Doubles& x, const Doubles& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += (x[i] - y[i]) * (x[i] - y[i]);
  return sum;
}
double cosine(Inputs x, std::size_t column, std::size_t n) {
  const std::size_t from = column * n;
  return dot(x[0], x[1], from, n) / std::sqrt(dot(x[0], x[0], from, n) * dot(x[1], x[1], from, n));
}
Doubles log_softmax_of(Doubles x) {
  double sum = 0;
  for (double each : x) sum += std::exp(each);
  for (double& each : x) each -= std::log(sum);
  return x;
}

std::vector<Function> functions() {
  const Dim vector({5}), matrix({3, 4});
  return {
      {"cross_entropy_smoothed",
       {vector},
       [](const Xs& x) {
         return cross_entropy(x[0], std::vector<unsigned>(x[0].dim().bd, 2), 0.1f);
       },
       [](Inputs x) {
         const Doubles log_p = log_softmax_of(x[0]);
         const double s = static_cast<double>(0.1f);
         double loss = -(1 - s) * log_p[2];
         for (double each : log_p) loss -= s / 5 * each;
         return Doubles{loss};
       }},
      {"binary_cross_entropy_with_logits",
       {matrix, matrix},
       [](const Xs& x) { return binary_cross_entropy_with_logits(x[0], x[1]); },
       [](Inputs x) {
         double loss = 0;
         for (std::size_t i = 0; i < 12; ++i) {
           const double p = 1 / (1 + std::exp(-x[0][i]));
           loss -= x[1][i] * std::log(p) + (1 - x[1][i]) * std::log(1 - p);
         }
         return Doubles{loss};
       },
       0.1,
       0.9},
      {"kl_divergence",
       {vector, vector},
       [](const Xs& x) { return kl_divergence(log_softmax(x[0]), log_softmax(x[1])); },
       [](Inputs x) {
         const Doubles p = log_softmax_of(x[0]), q = log_softmax_of(x[1]);
         double sum = 0;
         for (std::size_t i = 0; i < 5; ++i)
           sum += std::exp(p[i]) * std::log(std::exp(p[i] - q[i]));
         return Doubles{sum};
       }},
      {"cosine_similarity",
       {vector, vector},
       [](const Xs& x) { return cosine_similarity(x[0], x[1]); },
       [](Inputs x) { return Doubles{cosine(x, 0, 5)}; }},
      {"cosine_similarity_of_columns",
       {matrix, matrix},
       [](const Xs& x) { return cosine_similarity(x[0], x[1]); },
       [](Inputs x) {
         return Doubles{cosine(x, 0, 3), cosine(x, 1, 3), cosine(x, 2, 3), cosine(x, 3, 3)};
       }},
      {"triplet_loss",
       {vector, vector, vector},
       [](const Xs& x) { return triplet_loss(x[0], x[1], x[2], 0.5f); },
       [](Inputs x) {
         return Doubles{
             std::max(0.0, 0.5 + squared_length(x[0], x[1]) - squared_length(x[0], x[2]))};
       }},
      {"contrastive_loss",
       {vector, vector, Dim({1})},
       [](const Xs& x) { return contrastive_loss(x[0], x[1], x[2], 4.0f); },
       [](Inputs x) {
         const double d = std::sqrt(squared_length(x[0], x[1])), rest = std::max(0.0, 4 - d);
         return Doubles{x[2][0] * d * d + (1 - x[2][0]) * rest * rest};
       }},
      {"where",
       {matrix, matrix},
       [](const Xs& x) { return where(less(x[0], x[1]), exp(x[0]), square(x[1])); },
       [](Inputs x) {
         Doubles result;
         for (std::size_t i = 0; i < 12; ++i) {
           result.push_back(x[0][i] < x[1][i] ? std::exp(x[0][i]) : x[1][i] * x[1][i]);
         }
         return result;
       }},
      {"clip",
       {matrix},
       [](const Xs& x) { return clip(x[0], -0.5f, 0.25f); },
       [](Inputs x) {
         Doubles result;
         for (double each : x[0]) result.push_back(std::min(std::max(each, -0.5), 0.25));
         return result;
       }},
  };
}

INSTANTIATE_TEST_SUITE_P(Losses, ComposedOpTest, ::testing::ValuesIn(functions()),
                         [](const auto& info) { return std::string(info.param.name); });

class ComposedLossesTest : public ::testing::Test {
 protected:
  ComputationGraph graph_;
};

TEST_F(ComposedLossesTest, ComparisonsAreOneOrZero) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  const Expression x = input(graph_, {4}, {1, 2, 3, kNan}), y = input(graph_, {4}, {2, 2, 2, 2});
  using Floats = std::vector<float>;
  EXPECT_EQ(as_vector(less(x, y).value()), (Floats{1, 0, 0, 0}));
  EXPECT_EQ(as_vector(less_equal(x, y).value()), (Floats{1, 1, 0, 0}));
  EXPECT_EQ(as_vector(greater(x, y).value()), (Floats{0, 0, 1, 0}));
  EXPECT_EQ(as_vector(greater_equal(x, y).value()), (Floats{0, 1, 1, 0}));
  EXPECT_EQ(as_vector(equal(x, y).value()), (Floats{0, 1, 0, 0}));
  EXPECT_EQ(as_vector(greater(x, 1.5f).value()), as_vector(greater(x, 0.75f * y).value()));
  const Expression both = cmult(greater(x, 1.0f), less(x, 3.0f)), not_so = 1.0f - both;
  EXPECT_EQ(as_vector(both.value()), (Floats{0, 1, 0, 0}));
  EXPECT_EQ(as_vector(max(both, not_so).value()), (Floats{1, 1, 1, 1}));
}

TEST_F(ComposedLossesTest, WhatWhereLeavesOutLeavesNoTrace) {
  const Expression x = input(graph_, {3}, {-1, 0, 4});
  const Expression y = where(greater(x, 0.0f), sqrt(max(x, 1.0f)), zeros(graph_, {1}));
  EXPECT_EQ(as_vector(y.value()), (std::vector<float>{0, 0, 2}));
  const std::vector<float> logs = as_vector(where(greater(x, 0.0f), log(x), x).value());
  EXPECT_EQ(logs[0], -1);
  EXPECT_EQ(logs[1], 0);
  EXPECT_FLOAT_EQ(logs[2], std::log(4.0f));
  graph_.backward(sum_elems(y), true);
  EXPECT_EQ(as_vector(x.gradient()), (std::vector<float>{0, 0, 0.25f}));
  constexpr float kInf = std::numeric_limits<float>::infinity();
  const float nan = std::nanf("");
  const Expression a = input(graph_, {4}, {1, kInf, nan, -kInf});
  const Expression b = input(graph_, {4}, {nan, 2, 3, 4});
  const Expression chosen = where(input(graph_, {4}, {-1, 0, 0, 0}), a, b);
  EXPECT_EQ(as_vector(chosen.value()), (std::vector<float>{1, 2, 3, 4}));
  graph_.backward(squared_norm(chosen), true);
  EXPECT_EQ(as_vector(a.gradient()), (std::vector<float>{2, 0, 0, 0}));
  EXPECT_EQ(as_vector(b.gradient()), (std::vector<float>{0, 4, 6, 8}));
}

// A function whose slope is infinite where it is not taken reads what was chosen, too.
TEST_F(ComposedLossesTest, FunctionsWithInfiniteSlopesReadWhatWasChosen) {
  using Function = std::function<Expression(const Expression&)>;
  struct Case {
    Function condition, function;
    std::vector<float> x, slopes;
  };
  const Expression one = ones(graph_, {1});
  const auto positive = [](auto& x) { return greater(x, 0.0f); };
  const Case cases[] = {
      {positive, [](auto& x) { return log(x); }, {0, 2, -1}, {3, 0.5f, 3}},
      {positive, [](auto& x) { return sqrt(x); }, {0, 4, -4}, {3, 0.25f, 3}},
      {[](auto& x) { return less(x, 10.0f); },
       [](auto& x) { return exp(x); },
       {1e10f, 0, 1e3f},
       {3, 1, 3}},
      {[](auto& x) { return 1.0f - equal(x, 0.0f); },
       [&](auto& x) { return one / x; },
       {0, 2, -1},
       {3, -0.25f, -1}},
      {positive, [&](auto& x) { return pow(x, -one); }, {0, 2, -0.0f}, {3, -0.25f, 3}}};
  for (const auto& [condition, function, numbers, slopes] : cases) {
    const Expression x = input(graph_, {3}, numbers), p = condition(x);
    const auto gradient = [&, &f = function](const Expression& read) {
      graph_.backward(sum_elems(where(p, f(read), 3.0f * x)), true);
      return as_vector(x.gradient());
    };
    const std::vector<float> right = gradient(where(p, x, one)), wrong = gradient(x);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_FLOAT_EQ(right[i], slopes[i]) << i;
    EXPECT_TRUE(std::isnan(wrong[0])) << wrong[0];
  }
}

TEST_F(ComposedLossesTest, NothingIsLostOfLargeLogits) {
  const Expression x = input(graph_, {4}, {1e4f, -1e4f, 200, -200});
  const Expression right = input(graph_, {4}, {1, 0, 1, 0}), wrong = 1.0f - right;
  EXPECT_EQ(as_scalar(binary_cross_entropy_with_logits(x, right).value()), 0);
  EXPECT_EQ(as_scalar(binary_cross_entropy_with_logits(x, wrong).value()), 20400);
  const Expression p = log_softmax(input(graph_, {2}, {0, 1e4f}));
  EXPECT_EQ(as_scalar(kl_divergence(p, p).value()), 0);
}

TEST_F(ComposedLossesTest, ZerosAreLikeNothing) {
  const Expression x = input(graph_, {3}, {1, 2, 3});
  for (const float small : {0.0f, 1e-20f, 1e-13f}) {
    const Expression tiny = x * small, cosine = cosine_similarity(x, tiny);
    EXPECT_NEAR(as_scalar(cosine.value()), 0, 1e-20f);
    graph_.backward(cosine, true);
    for (const Expression& each : {x, tiny}) {
      for (const float slope : as_vector(each.gradient())) EXPECT_NEAR(slope, 0, 1e-20f);
    }
  }
  EXPECT_NEAR(as_scalar(cosine_similarity(x, 1e30f * x).value()), 1, 1e-6f);
}

TEST_F(ComposedLossesTest, RefusesWhatHasNoMeaning) {
  const Expression x = input(graph_, {3}, {1, 2, 3});
  EXPECT_THROW(clip(x, 1, 0), UsageError);
  EXPECT_THROW(clip(x, std::nanf(""), 0), UsageError);
  EXPECT_THROW(cross_entropy(x, 0, 1.5f), UsageError);
  EXPECT_THROW(cross_entropy(x, 0, -0.5f), UsageError);
  EXPECT_THROW(triplet_loss(x, x, input(graph_, {2}, {1, 2})), ShapeError);
}

// What could be stretched is not meant to be; messages have the names that programs use.
TEST_F(ComposedLossesTest, NeedEqualShapes) {
  const Expression x = zeros(graph_, {3, 2}), y = zeros(graph_, {3}) + input(graph_, 1.0f);
  y.label("target");
  const std::pair<const char*, Expression (*)(const Expression&, const Expression&)> functions[] = {
      {"l1_distance", l1_distance},
      {"huber_distance", [](auto& a, auto& b) { return huber_distance(a, b); }},
      {"binary_log_loss", binary_log_loss},
      {"binary_cross_entropy_with_logits", binary_cross_entropy_with_logits},
      {"kl_divergence", kl_divergence},
      {"cosine_similarity", cosine_similarity},
      {"contrastive_loss",
       [](auto& a, auto& b) { return contrastive_loss(a, b, ones(*a.pg, {1})); }},
  };
  for (const auto& named : functions) {
    EXPECT_EQ(message_of<ShapeError>([&] { named.second(x, y); }),
              std::string("[") + named.first +
                  "] need equal shapes; got {3,2} {3}, where \"target\" is {3}");
    EXPECT_EQ(named.second(x, x).dim().bd, 1u);
  }
  EXPECT_EQ(message_of<ShapeError>([&] { contrastive_loss(x, x, y); }),
            "[contrastive_loss] need one number that says whether two are the same; got {3}, where "
            "\"target\" is {3}");
}

}  // namespace
}  // namespace dynet_like

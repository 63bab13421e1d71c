// Losses, similarities and choices where their formulas end, and what they refuse.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

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

// A tagger's scores: a column for every word, and the words' labels.
TEST_F(ComposedLossesTest, CrossEntropyOfColumnsIsThatOfEachColumn) {
  const std::vector<unsigned> labels = {2, 0, 1, 2};
  std::vector<float> numbers(12);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i * i % 7) - 3;
  const Expression scores = input(graph_, {3, 4}, numbers);
  for (const float smoothing : {0.0f, 0.25f}) {
    const Expression loss = cross_entropy(scores, labels, smoothing);
    EXPECT_EQ(loss.dim(), Dim({1}, 4));
    EXPECT_EQ(as_vector(cross_entropy(scores, &labels, smoothing).value()),
              as_vector(loss.value()));
    for (unsigned i = 0; i < labels.size(); ++i) {
      EXPECT_EQ(as_vector(cross_entropy(pick(scores, i, 1), labels[i], smoothing).value())[0],
                as_vector(loss.value())[i]);
    }
  }
  const Expression two = concatenate_to_batch({scores, scores + 1.0f});
  EXPECT_EQ(cross_entropy(two, {2, 0, 1, 2, 0, 0, 1, 1}).dim(), Dim({1}, 8));
  EXPECT_THROW(cross_entropy(scores, {2, 0, 1}), ShapeError);
  EXPECT_THROW(cross_entropy(scores, 2), ShapeError);
  EXPECT_THROW(cross_entropy(scores, {2, 0, 1, 3}), UsageError);
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

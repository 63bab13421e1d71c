// The choices of a search, against a sort of all of them.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

template <class T>
constexpr T kInfinity = std::numeric_limits<T>::infinity();

// Scores of so many hypotheses, among them equal ones and some that are no choices.
template <class T>
struct Table {
  Table(Random& random, unsigned hypotheses, unsigned actions_each)
      : actions(actions_each), scores(hypotheses * actions_each), so_far(hypotheses) {
    // Few numbers are equal ones; large sums round away what distinguishes small ones.
    const auto kinds = static_cast<unsigned>(random.below(2) == 0 ? 5 : 100'000);
    const double scale = random.below(3) == 0 ? 1e-7 : 1;
    for (T& score : scores) {
      score = static_cast<T>(-scale * static_cast<double>(random.below(kinds)) / 7);
      if (random.below(10) == 0) score = -kInfinity<T>;
    }
    for (double& sum : so_far) sum = -static_cast<double>(random.below(3)) * 1000.1;
  }

  std::vector<Choice> sorted() const {
    std::vector<Choice> all;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (scores[i] == -kInfinity<T>) continue;
      const double score = so_far[i / actions] + static_cast<double>(scores[i]);
      all.push_back({i / actions, static_cast<unsigned>(i % actions), score});
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const Choice& a, const Choice& b) { return a.score > b.score; });
    return all;
  }
  Tensor tensor(unsigned first, unsigned count) {
    return Tensor(Dim({actions}, count), scores.data() + first * actions);
  }

  unsigned actions;
  std::vector<T> scores;
  std::vector<double> so_far;
};

template <class T>
class ChoicesTest : public ::testing::Test {};
using Numbers = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ChoicesTest, Numbers);

TYPED_TEST(ChoicesTest, AreTheFirstOfAllInOrder) {
  Random random(3);
  for (int trial = 0; trial < 300; ++trial) {
    const auto hypotheses = static_cast<unsigned>(1 + random.below(9));
    Table<TypeParam> table(random, hypotheses, static_cast<unsigned>(1 + random.below(70)));
    const std::size_t count = 1 + random.below(trial % 10 == 0 ? 200 : 12);
    std::vector<Choice> expected = table.sorted();
    expected.resize(std::min(expected.size(), count));
    // A tensor each, one of all, and something between.
    std::vector<Tensor> separate, some;
    for (unsigned h = 0; h < hypotheses; ++h) separate.push_back(table.tensor(h, 1));
    const Tensor all = table.tensor(0, hypotheses);
    const auto half = hypotheses / 2;
    if (half > 0) some.push_back(table.tensor(0, half));
    some.push_back(table.tensor(half, hypotheses - half));
    EXPECT_EQ(best_choices(table.so_far, separate, count), expected);
    EXPECT_EQ(best_choices(table.so_far, std::span(&all, 1), count), expected);
    EXPECT_EQ(best_choices(table.so_far, some, count), expected);
  }
}

TYPED_TEST(ChoicesTest, TheBestOfOne) {
  Random random(4);
  for (int trial = 0; trial < 300; ++trial) {
    Table<TypeParam> table(random, 1, static_cast<unsigned>(1 + random.below(20)));
    table.so_far[0] = 0;
    const std::vector<Choice> expected = table.sorted();
    const std::optional<Choice> best = best_choice(table.tensor(0, 1));
    ASSERT_EQ(best.has_value(), !expected.empty());
    if (!expected.empty()) {
      EXPECT_EQ(*best, expected[0]);
    }
  }
}

// A float that is next to a sum in double may be above it.
TEST(ChoicesOfFloatsTest, WhatAFloatRoundsUpIsBetter) {
  std::vector<float> scores = {0, 0.1f};  // above 0.1
  const Tensor tensor(Dim({1}, 2), scores.data());
  const std::vector<double> so_far = {0.1, 0};
  EXPECT_EQ(best_choices(so_far, std::span(&tensor, 1), 1),
            (std::vector<Choice>{{1, 0, static_cast<double>(0.1f)}}));
}

// Wherever it stands, behind however many better ones.
TYPED_TEST(ChoicesTest, NaNAndInfinityAreNoScores) {
  for (const TypeParam bad : {std::numeric_limits<TypeParam>::quiet_NaN(), kInfinity<TypeParam>}) {
    for (unsigned place = 0; place < 40; ++place) {
      std::vector<TypeParam> scores(40, 0);
      scores[place] = bad;
      const Tensor tensor(Dim({20}, 2), scores.data());
      const Tensor column(Dim({40}), scores.data());
      const std::vector<double> so_far = {0, -100};
      EXPECT_THROW(best_choices(so_far, std::span(&tensor, 1), 3), NumericError) << place;
      EXPECT_THROW(best_choice(column), NumericError) << place;
    }
  }
}

}  // namespace
}  // namespace dynet_like::nn

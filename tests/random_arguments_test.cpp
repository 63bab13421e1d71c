// What distributions refuse, and what they draw at the ends of their parameters.
#include <gtest/gtest.h>

#include <limits>

#include "dynet_like/dynet_like.h"
#include "tests/support/message_of.h"

namespace dynet_like {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class RandomArgumentsTest : public ::testing::Test {
 protected:
  static GraphOptions options(Random* random) {
    GraphOptions options;
    options.random = random;
    return options;
  }
  std::vector<float> values(const Expression& x) { return as_vector(x.value()); }
  template <class F>
  void expect_refused(const F& f, const std::string& need) {
    const std::string message = message_of<UsageError>([&] { f(); });
    EXPECT_NE(message.find(need), std::string::npos) << message;
    EXPECT_NE(message.find("; got "), std::string::npos) << message;
  }

  Random random_{3};
  ComputationGraph graph_{options(&random_)};
  const Dim dim_{Dim({50})};
};

TEST_F(RandomArgumentsTest, AreChecked) {
  for (const float p : {-0.1f, 1.5f, 2.0f, kInf, kNan}) {
    expect_refused([&] { random_bernoulli(graph_, dim_, p); },
                   "[random_bernoulli] need a probability of 0 to 1");
  }
  for (const float negative : {-1.0f, -1e-30f, -kInf, kInf, kNan}) {
    expect_refused([&] { random_normal(graph_, dim_, 0, negative); },
                   "[random_normal] need a standard deviation of at least 0");
    expect_refused([&] { noise(zeros(graph_, dim_), negative); },
                   "[noise] need a standard deviation of at least 0");
    expect_refused([&] { random_gumbel(graph_, dim_, 0, negative); },
                   "[random_gumbel] need a scale of at least 0");
  }
  expect_refused([&] { random_uniform(graph_, dim_, 1, 0); }, "[random_uniform] need a left end");
  expect_refused([&] { random_uniform(graph_, dim_, 0, kInf); }, "finite");
  expect_refused([&] { random_uniform(graph_, dim_, kNan, 1); }, "[random_uniform] need");
  expect_refused([&] { random_normal(graph_, dim_, kNan, 1); }, "finite");
  expect_refused([&] { random_bernoulli(graph_, dim_, 0.5f, kInf); }, "finite");
  const Expression x = zeros(graph_, dim_);
  for (const float p : {-0.1f, 1.0f, 2.0f, kNan}) {
    for (const auto& drop :
         {+[](const Expression&y, float rate) { return dropout(y, rate); },
          +[](const Expression&y, float rate) { return dropout_dim(y, 0, rate); },
          +[](const Expression&y, float rate) { return dropout_batch(y, rate); },
          +[](const Expression&y, float rate) { return block_dropout(y, rate); }}) {
      expect_refused([&] { drop(x, p); }, "need a probability of at least 0 and below 1");
    }
  }
}

TEST_F(RandomArgumentsTest, WithoutAnyChance) {
  const std::vector<float> threes(50, 3.0f), zero(50, 0.0f);
  EXPECT_EQ(values(random_uniform(graph_, dim_, 3, 3)), threes);
  EXPECT_EQ(values(random_normal(graph_, dim_, 3, 0)), threes);
  EXPECT_EQ(values(random_gumbel(graph_, dim_, 3, 0)), threes);
  EXPECT_EQ(values(random_bernoulli(graph_, dim_, 1, 3)), threes);
  EXPECT_EQ(values(random_bernoulli(graph_, dim_, 0, 3)), zero);
  EXPECT_EQ(values(noise(input(graph_, dim_, threes), 0)), threes);
}

}  // namespace
}  // namespace dynet_like

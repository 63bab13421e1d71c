// Operations on very many inputs, and messages about them.
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// More than 2^16, and no multiple of anything.
constexpr unsigned kMany = 65'539;

class ManyInputsTest : public ::testing::Test {
 protected:
  // Numbers 0, 1, 2, ..., all of them elements of one parameter.
  std::vector<Expression> numbers(unsigned count) {
    std::vector<float> values(count);
    for (unsigned i = 0; i < count; ++i) values[i] = static_cast<float>(i);
    all_ = model_.add_parameters({count}, ParameterInitFromVector(values));
    const Expression all = parameter(graph_, all_);
    std::vector<Expression> result;
    for (unsigned i = 0; i < count; ++i) result.push_back(pick_range(all, i, i + 1));
    return result;
  }
  std::vector<float> gradient(const Expression& loss) { return graph_.backward(loss).values(all_); }

  ParameterCollection model_;
  Parameter all_;
  ComputationGraph graph_;
};

TEST_F(ManyInputsTest, Concatenation) {
  const std::vector<Expression> xs = numbers(kMany);
  const Expression y = concatenate(xs);
  ASSERT_EQ(y.dim(), Dim({kMany}));
  const std::vector<float> values = as_vector(y.value());
  for (unsigned i = 0; i < kMany; ++i) ASSERT_EQ(values[i], static_cast<float>(i));
  const std::vector<float> slopes = gradient(squared_distance(y, zeros(graph_, Dim({kMany}))));
  for (unsigned i = 0; i < kMany; ++i) ASSERT_EQ(slopes[i], 2 * static_cast<float>(i));
}

TEST_F(ManyInputsTest, ConcatenationToAMinibatch) {
  const Expression y = concatenate_to_batch(numbers(kMany));
  ASSERT_EQ(y.dim(), Dim({1}, kMany));
  EXPECT_EQ(as_vector(y.value())[kMany - 1], static_cast<float>(kMany - 1));
  const std::vector<float> slopes = gradient(square(y));
  for (unsigned i = 0; i < kMany; ++i) ASSERT_EQ(slopes[i], 2 * static_cast<float>(i));
}

TEST_F(ManyInputsTest, LogSumExp) {
  const Expression y = logsumexp(numbers(kMany));
  EXPECT_EQ(as_scalar(y.value()), static_cast<float>(kMany - 1) + std::log(1.5819767f));
  const std::vector<float> slopes = gradient(y);
  EXPECT_EQ(slopes[0], 0);
  EXPECT_NEAR(slopes[kMany - 1], 1 / 1.5819767, 1e-6);
}

TEST_F(ManyInputsTest, SumAverageAndMaximum) {
  const std::vector<Expression> xs = numbers(kMany);
  const double middle = (kMany - 1) / 2.0;
  const Expression mean = average(xs);
  EXPECT_NEAR(static_cast<double>(as_scalar(mean.value())), middle, 1e-5 * middle);
  EXPECT_NEAR(static_cast<double>(as_scalar(sum(xs).value())), middle * kMany, 1e3 * middle);
  EXPECT_EQ(gradient(mean), std::vector<float>(kMany, 1 / static_cast<float>(kMany)));
  EXPECT_EQ(as_scalar(max(xs).value()), static_cast<float>(kMany - 1));
}

// What is wrong is to be seen among what is not.
TEST_F(ManyInputsTest, MessagesAreShort) {
  std::vector<Expression> xs = numbers(kMany);
  const auto message = [&](auto function) { return message_of<ShapeError>([&] { function(xs); }); };
  const auto concatenated = [](const auto& all) { return concatenate(all, 1); };
  xs[60'000] = ones(graph_, Dim({2}));
  EXPECT_EQ(message(concatenated),
            "[concatenate] need equal sizes but for dimension 1; got {1} (60000 times) {2} {1} "
            "(5538 times)");
  for (unsigned i = 0; i < kMany; i += 2) xs[i] = ones(graph_, Dim({2}));
  EXPECT_EQ(message(concatenated),
            "[concatenate] need equal sizes but for dimension 1; got {2} {1} {2} {1} {2} {1} {2} "
            "{1} and 65531 more");
  EXPECT_EQ(message([](const auto& all) { return concatenate_to_batch(all); }),
            "[concatenate_to_batch] need equal shapes but for the minibatch; got {2} {1}");
  EXPECT_EQ(message([](const auto& all) { return logsumexp(all); }),
            "[logsumexp] need equal shapes but for the minibatch; got {2} {1}");
  EXPECT_LT(message([](const auto& all) { return affine_transform(all); }).size(), 200u);
}

}  // namespace
}  // namespace dynet_like

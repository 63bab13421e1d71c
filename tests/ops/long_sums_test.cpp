// Sums of many terms keep their digits.
#include "tests/support/precompiled.h"
#include "tests/support/slow_build.h"

namespace dynet_like::testing {
namespace {

constexpr unsigned kTerms = 1'000'000;

// A chain of a million floats is off by 1e-2, four times as many lanes by 2e-4.
void expect_digits(const Expression& found, double expected, const std::string& what) {
  const std::vector<float> values = as_vector(found.value());
  EXPECT_LT(std::abs(values.back() / expected - 1), 1e-6) << what << ": " << values.back();
}

TEST(LongSumsTest, KeepTheirDigits) {
  if (runs_slowly()) GTEST_SKIP() << "reads millions of numbers";
  ComputationGraph graph;
  const double term = 0.1f, all = kTerms * term;
  const Expression x = input(graph, {kTerms}, std::vector<float>(kTerms, 0.1f));
  expect_digits(sum_elems(x), all, "sum_elems");
  expect_digits(mean_elems(x), term, "mean_elems");
  expect_digits(squared_norm(x), all * term, "squared_norm");
  expect_digits(dot_product(x, x), all * term, "dot_product");
  expect_digits(squared_distance(x, 0.0f * x), all * term, "squared_distance");
  expect_digits(cumsum(x, 0), all, "cumsum");
  for (const unsigned rows : {1u, 8u}) {
    const Expression wide = reshape(x, {rows, kTerms / rows});
    expect_digits(sum_dim(wide, {1}), all / rows, "sum_dim");
    expect_digits(segment_sum(wide, {kTerms / rows - 1, 1}), term, "a segment of one column");
    expect_digits(segment_sum(wide, {kTerms / rows}), all / rows, "segment_sum");
  }
  const Expression items = reshape(x, Dim({1}, kTerms));
  expect_digits(sum_batches(items), all, "sum_batches");
}

TEST(LongSumsTest, SegmentsKeepTheirDigitsOnEveryDevice) {
  constexpr unsigned kColumns = 1000;
  ComputationGraph graph;
  const double term = 0.1f;
  const Expression x = input(graph, {1, kColumns}, std::vector<float>(kColumns, 0.1f));
  expect_digits(segment_sum(x, {kColumns}), kColumns * term, "segment_sum");
  expect_digits(sum_batches(reshape(x, Dim({1}, kColumns))), kColumns * term, "sum_batches");
  expect_digits(segment_sum(x, {kColumns - 33, 33}), 33 * term, "a block and a column");
}

}  // namespace
}  // namespace dynet_like::testing

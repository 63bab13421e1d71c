// The file of DyNet's numbers: every row has its test, and a number that is off is noticed.
#include <gtest/gtest-spi.h>

#include <set>

#include "tests/compat/golden.h"

namespace dynet::golden {
namespace {

TEST(GoldenRowsTest, EveryRowHasExactlyOneTest) {
  if (!is_there()) {
    GTEST_SKIP() << "needs dynet_golden/dynet.tsv in the folder that DYNET_LIKE_DATA names";
  }
  std::multiset<std::string> tested;
  for (const auto& names : {kSequences, kTrees, kTrainers, kSoftmaxes}) {
    tested.insert(names.begin(), names.end());
  }
  const Rows rows = read_rows();
  EXPECT_EQ(rows.size(), 354u);
  std::set<std::string> names;
  for (const Row& row : rows) {
    EXPECT_EQ(tested.count(subject_of(row)), 1u) << row.first;
    EXPECT_TRUE(names.insert(row.first).second) << row.first;
  }
  for (const auto& file : std::filesystem::directory_iterator(folder())) {
    if (file.path().extension() != ".model") continue;
    EXPECT_EQ(tested.count(file.path().stem().string()), 1u) << file.path();
  }
}

TEST(GoldenRowsTest, NumbersAgreeWithinOneInAHundredThousand) {
  EXPECT_TRUE(agree(100, 100.0009f));
  EXPECT_FALSE(agree(100, 100.002f));
  EXPECT_TRUE(agree(0, 0.9e-6f));
  EXPECT_FALSE(agree(0, 1.1e-6f));
  EXPECT_FALSE(agree(1, -1));
  EXPECT_FALSE(agree(0, std::numeric_limits<float>::quiet_NaN()));
}

TEST(GoldenRowsTest, WhatIsMissingOrOffIsNoticed) {
  const Rows rows = {{"a 0", {1, 2}}, {"a 1", {3}}};
  expect_agreement({rows[1], rows[0]}, rows);
  EXPECT_FATAL_FAILURE(expect_agreement({{"a 0", {1, 2}}}, {{"a 0", {1, 2}}, {"a 1", {3}}}),
                       "size");
  EXPECT_FATAL_FAILURE(expect_agreement({{"a 0", {1}}, {"a 0", {1}}}, {{"a 0", {1}}, {"a 1", {1}}}),
                       "a 1");
  EXPECT_NONFATAL_FAILURE(expect_agreement({{"a 0", {1, 2}}}, {{"a 0", {1}}}), "a 0: { 1, 2 }");
  EXPECT_NONFATAL_FAILURE(expect_agreement({{"a 0", {1, 2}}}, {{"a 0", {1, 2.5f}}}),
                          "a 0: { 1, 2 }, in DyNet { 1, 2.5 }");
}

}  // namespace
}  // namespace dynet::golden

// The rules of bounds, and their file.
#include "bench/support/bounds.h"

#include <gtest/gtest.h>

#include <sstream>

namespace dynet_like::bench {
namespace {

using Table = Bounds::Table;

const Bounds& rules() {
  static const Bounds bounds({{"batches"}, {"copied_bytes"}, {"value_bytes", 0.01}}, "# A head.\n");
  return bounds;
}

const Bounds::Amounts kAmounts = {100, 0, 20000};

std::string only_fault(std::size_t quantity, std::uint64_t amount) {
  Bounds::Amounts changed = kAmounts;
  changed[quantity] = amount;
  const std::vector<std::string> found =
      rules().faults({{"tagger/train/ops", kAmounts}}, {{"tagger/train/ops", changed}});
  EXPECT_LE(found.size(), 1u);
  return found.empty() ? "" : found[0];
}

TEST(BoundsTest, CountsAreBoundedExactly) {
  EXPECT_EQ(only_fault(0, 100), "");
  EXPECT_EQ(only_fault(0, 101), "tagger/train/ops: need 100 batches at most; got 101");
  EXPECT_EQ(only_fault(1, 1), "tagger/train/ops: need 0 copied_bytes at most; got 1");
}

TEST(BoundsTest, BytesMayBeALittleMore) {
  EXPECT_EQ(only_fault(2, 20200), "");
  EXPECT_EQ(only_fault(2, 20201), "tagger/train/ops: need 20000 value_bytes at most; got 20201");
}

TEST(BoundsTest, BoundsMustBeSharp) {
  EXPECT_EQ(only_fault(0, 95), "");
  EXPECT_EQ(only_fault(0, 94), "tagger/train/ops: need 100 batches; got only 94: lower the bound");
}

TEST(BoundsTest, RowsAndBoundsBelongTogether) {
  const Table one = {{"a", kAmounts}}, two = {{"a", kAmounts}, {"b", kAmounts}};
  EXPECT_EQ(rules().faults(one, two), std::vector<std::string>{"b: need bounds; got none"});
  EXPECT_EQ(rules().faults(two, one),
            std::vector<std::string>{"b: need such a row; got bounds alone"});
}

TEST(BoundsTest, TheFileIsReadAsItIsWritten) {
  const Table table = {{"a", kAmounts}, {"b", {1, 2, 3}}};
  std::stringstream file;
  rules().write(file, table);
  EXPECT_EQ(file.str().substr(0, 10), "# A head.\n");
  EXPECT_EQ(rules().read(file), table);
  for (const char* bad : {"a 1 2\n", "a 1 2 3 4\n", "a 1 x 3\n", "a 1 2 3\na 1 2 3\n"}) {
    std::istringstream in(bad);
    EXPECT_THROW(rules().read(in), std::runtime_error) << bad;
  }
}

}  // namespace
}  // namespace dynet_like::bench

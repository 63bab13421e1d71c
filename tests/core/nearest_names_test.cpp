// Names that a mistyped one was meant to be.
#include "dynet_like/core/nearest_names.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::detail {
namespace {

using Names = std::vector<std::string_view>;

TEST(NearestNamesTest, CountLettersAddedDroppedAndChanged) {
  const Names names = {"kitten", "sit", "sitting", "mitten", ""};
  EXPECT_EQ(nearest_names("sitten", names), "\"kitten\", \"mitten\", \"sitting\"");
  EXPECT_EQ(nearest_names("sitten", names, 1), "\"kitten\"") << "of equal ones the first";
  EXPECT_EQ(nearest_names("s", names, 2), "\"\", \"sit\"");
  EXPECT_EQ(nearest_names("", names, 9), "\"\", \"sit\", \"kitten\", \"mitten\", \"sitting\"");
  EXPECT_EQ(nearest_names("x", Names{}), "");
  EXPECT_EQ(nearest_names("x", names, 0), "");
}

TEST(NearestNamesTest, EndAMessage) {
  EXPECT_EQ(nearest_names_text("a", Names{}), "");
  EXPECT_EQ(nearest_names_text("a", Names{"b"}), ", the only one is \"b\"");
  EXPECT_EQ(nearest_names_text("a", Names{"bcd", "ab"}), ", the nearest are \"ab\", \"bcd\"");
  EXPECT_EQ(nearest_keys_text("a", std::map<std::string, int>{{"x", 1}, {"y", 2}}),
            ", the nearest are \"x\", \"y\"");
}

// A hostile file has any number of names of any length.
TEST(NearestNamesTest, DoNotTakeLong) {
  const std::vector<std::string> long_names(50'000, std::string(1000, 'a'));
  Names names(long_names.begin(), long_names.end());
  const std::string other(1'000'000, 'b');
  EXPECT_EQ(nearest_names(other, names, 1).size(), 45u);
  names[9'999] = "b";
  EXPECT_EQ(nearest_names("b", names, 1), "\"b\"");
  names[9'999] = "a";
  names[10'000] = "b";
  EXPECT_EQ(nearest_names("b", names, 1), "\"a\"") << "only the first 10,000";
}

}  // namespace
}  // namespace dynet_like::detail

// docs/training.md: its list of options is that of the header, with the same order and defaults.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/source_text.h"

namespace {

using dynet_like::source_text;

/// What the pattern's first group matches, in order, with its default unless that is nothing.
std::vector<std::string> options_of(const std::string& text, const std::regex& pattern) {
  static const std::set<std::string> nothing = {"", "false", "{}", "nullptr", "{.threads = 0}"};
  std::vector<std::string> options;
  for (std::sregex_iterator i(text.begin(), text.end(), pattern), end; i != end; ++i) {
    const std::string value = (*i)[2];
    options.push_back((*i)[1].str() + (nothing.contains(value) ? "" : " = " + value));
  }
  return options;
}

TEST(TrainingOptionsTest, AreInTheOrderOfTheHeader) {
  const std::filesystem::path root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  const std::string header = source_text(root / "nn/train/training_options.h");
  std::string members = header.substr(header.find("struct TrainingOptions {"));
  members = std::regex_replace(members, std::regex("///?[^\n]*"), "");
  const std::string page = source_text(root / "docs/training.md");
  const std::size_t begin = page.find("name in this order:");
  const std::string list = page.substr(begin, page.find("[The header]", begin) - begin);
  const auto expected = options_of(members, std::regex(R"((\w+) = (\{[^}]*\}|[^,;]+)[,;])"));
  EXPECT_GT(expected.size(), 30u);
  EXPECT_EQ(options_of(list, std::regex("`(\\w+)(?: = ([^`]*))?`")), expected);
}

}  // namespace

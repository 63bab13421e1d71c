// docs/training.md: its list of options is that of the headers, with the same order and defaults.
#include <gtest/gtest.h>

#include <cctype>
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

TEST(TrainingOptionsTest, AreInTheOrderOfTheHeaders) {
  const std::filesystem::path root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  std::string members;
  for (const std::string of : {"Training", "Schedule", "Stopping", "Rank", "File", "Report"}) {
    std::string file = of + "_options.h";
    file.front() = static_cast<char>(std::tolower(file.front()));
    const std::string header = source_text(root / "nn/train" / file);
    const std::size_t begin = header.find("struct " + of + "Options {");
    ASSERT_NE(begin, std::string::npos) << file;
    members += header.substr(begin);
  }
  members = std::regex_replace(members, std::regex("///?[^\n]*"), "");
  const std::string page = source_text(root / "docs/training.md");
  const std::size_t begin = page.find("name in this order:");
  const std::string list = page.substr(begin, page.find("[The headers]", begin) - begin);
  const auto expected = options_of(members, std::regex(R"((\w+) = (\{[^}]*\}|[^,;]+)[,;])"));
  EXPECT_GT(expected.size(), 35u);
  EXPECT_EQ(options_of(list, std::regex("`(\\w+)(?: = ([^`]*))?`")), expected);
}

}  // namespace

// Lists of example programs on pages name those that there are, and what they have in common.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/source_text.h"

namespace dynet_like {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

std::string file(const std::string& path) {
  return source_text(fs::path(std::getenv("DYNET_LIKE_SOURCE_DIR")) / path);
}

/// The part of a text from some words on, up to others.
std::string part(const std::string& text, const std::string& from, const std::string& to) {
  const std::size_t begin = text.find(from), end = text.find(to, begin);
  if (begin == text.npos || end == text.npos) return "nothing";
  return text.substr(begin, end - begin);
}

/// What an expression finds in a text, its first group, in order.
Names all_of(const std::string& text, const std::string& expression) {
  const std::regex regex(expression);
  Names found;
  for (std::sregex_iterator each(text.begin(), text.end(), regex), end; each != end; ++each) {
    found.push_back((*each)[1]);
  }
  return found;
}

/// The programs of a folder whose sources have some words.
std::set<std::string> programs(const std::string& folder, const std::string& words = "") {
  std::set<std::string> names;
  for (const auto& entry :
       fs::directory_iterator(fs::path(std::getenv("DYNET_LIKE_SOURCE_DIR")) / folder)) {
    if (entry.path().extension() != ".cpp") continue;
    if (source_text(entry.path()).find(words) != std::string::npos) {
      names.insert(entry.path().stem());
    }
  }
  return names;
}

std::set<std::string> set_of(const Names& names) { return {names.begin(), names.end()}; }

/// A number from 10 to 12 as a word.
std::string word_of(std::size_t number) {
  const std::vector<std::string> words = {"ten", "eleven", "twelve", "thirteen", "fourteen"};
  return number < 10 || number >= 10 + words.size() ? "another number" : words[number - 10];
}

const std::string kRow = R"(\n\| \[`([a-z0-9_]+)`\]\(\.\./examples/[a-z0-9_]+\.cpp\))";
const std::string kFull = R"(`\]\(\.\./examples/full/([a-z0-9_]+)\.cpp\))";

TEST(ExamplesPageTest, ListsAllPrograms) {
  const std::string page = file("docs/examples.md");
  const Names to_copy = all_of(part(page, "## To copy", "## Full"), kRow);
  EXPECT_EQ(set_of(to_copy), programs("examples"));
  EXPECT_NE(file("README.md").find(word_of(to_copy.size()) + " of at most 42 lines"),
            std::string::npos);
  EXPECT_EQ(set_of(all_of(part(page, "## Full", "They train in"), kFull)),
            programs("examples/full"));
}

TEST(ExamplesPageTest, CountsLines) {
  const std::string page = file("docs/examples.md");
  const std::regex counted(R"(\(\.\./(examples/[a-z0-9_/]+\.cpp)\)[^|\n;]*, ([0-9]+) lines)");
  std::size_t count = 0;
  for (std::sregex_iterator each(page.begin(), page.end(), counted), end; each != end; ++each) {
    const std::string source = file((*each)[1]);
    EXPECT_EQ(std::to_string(std::ranges::count(source, '\n')), (*each)[2]) << (*each)[1];
    ++count;
  }
  EXPECT_EQ(count, 1u);
}

TEST(ExamplesPageTest, TheFirstProgramsShareOptions) {
  const std::string page = file("docs/examples.md");
  const std::set<std::string> sharing = programs("examples/full", "const Program k");
  EXPECT_NE(page.find("The first " + word_of(sharing.size()) + " programs share these options"),
            std::string::npos);
  Names first = all_of(part(page, "## Full", "They train in"), kFull);
  first.resize(sharing.size());
  EXPECT_EQ(set_of(first), sharing);
}

TEST(ExamplesPageTest, ProgramsWithWordVectors) {
  const std::string list = part(file("docs/data.md"), "These examples take `--vectors FILE`", ".");
  EXPECT_EQ(set_of(all_of(list, "`([a-z0-9_]+)`")),
            programs("examples/full", "add_vector_options"));
}

}  // namespace
}  // namespace dynet_like

// docs/architecture.md: the way of a minibatch is short, and its files have the functions that the
// page names; the headers of the glossary explain their words.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/source_text.h"

namespace {

namespace fs = std::filesystem;
using dynet_like::source_text;

fs::path docs() { return fs::path(std::getenv("DYNET_LIKE_SOURCE_DIR")) / "docs"; }

using Cells = std::vector<std::string>;

/// The rows of the table with this first cell in its head.
std::vector<Cells> rows_of(const std::string& head) {
  std::vector<Cells> rows;
  bool is_inside = false;
  std::istringstream page(source_text(docs() / "architecture.md"));
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("| " + head + " |")) {
      is_inside = true;
    } else if (is_inside && !line.starts_with("|")) {
      break;
    } else if (is_inside && !line.starts_with("|--")) {
      std::istringstream text(line.substr(1));
      rows.emplace_back();
      for (std::string cell; std::getline(text, cell, '|');) rows.back().push_back(cell);
    }
  }
  return rows;
}

/// All matches of the first group.
std::vector<std::string> found_in(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator each(text.begin(), text.end(), pattern), end; each != end; ++each) {
    found.push_back((*each)[1]);
  }
  return found;
}

const std::regex kLink(R"(\]\(([^)]+)\))"), kCode(R"(`(?:\w+::)*(\w+)`)");

TEST(ArchitecturePageTest, TheWayIsShortAndNamesFunctionsThatAreThere) {
  for (const char* const head : {"forward", "backward"}) {
    const std::vector<Cells> rows = rows_of(head);
    EXPECT_GE(rows.size(), 10u) << head;
    EXPECT_LE(rows.size(), 15u) << head;
    for (const Cells& row : rows) {
      ASSERT_EQ(row.size(), 3u) << row[0];
      const std::vector<std::string> files = found_in(row[0] + row[1], kLink);
      ASSERT_FALSE(files.empty()) << row[0];
      std::string text;
      for (const std::string& file : files) text += source_text(docs() / file);
      for (const std::string& name : found_in(row[1], kCode)) {
        EXPECT_TRUE(std::regex_search(text, std::regex("(^|[^.>\\w])" + name + "\\b")))
            << row[0] << name;
      }
    }
  }
}

TEST(ArchitecturePageTest, HeadersExplainTheWordsOfTheGlossary) {
  const std::vector<Cells> rows = rows_of("word");
  EXPECT_GT(rows.size(), 30u);
  for (const Cells& row : rows) {
    ASSERT_EQ(row.size(), 3u) << row[0];
    std::string comments;
    for (const std::string& file : found_in(row[2], kLink)) {
      if (!file.ends_with(".h")) continue;
      std::istringstream text(source_text(docs() / file));
      for (std::string line; std::getline(text, line);) {
        const std::size_t comment = line.find("//");
        if (comment != line.npos) comments += line.substr(comment) + "\n";
      }
    }
    std::ranges::transform(comments, comments.begin(),
                           [](unsigned char c) { return std::tolower(c); });
    const std::string word = std::regex_replace(row[0], std::regex("^ +| +$"), "");
    EXPECT_TRUE(std::regex_search(comments, std::regex("\\b" + word + "(s|es)?\\b"))) << word;
  }
}

}  // namespace

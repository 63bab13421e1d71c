// docs/decisions: every page is in the index and short, and the files that it names are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>

#include "tests/support/source_text.h"

namespace {

namespace fs = std::filesystem;
using dynet_like::source_text;

TEST(DecisionsTest, AreInTheIndexAndNameFilesThatAreThere) {
  const fs::path root = std::getenv("DYNET_LIKE_SOURCE_DIR"), folder = root / "docs/decisions";
  const std::string index = source_text(folder / "README.md");
  const std::regex file(R"(`([a-z_]+/[a-z_/]+(\.[a-z]+)?)`)");
  std::size_t pages = 0, files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename(), text = source_text(entry.path());
    if (name == "README.md") continue;
    ++pages;
    EXPECT_NE(index.find("](" + name + ") |"), index.npos) << name;
    EXPECT_NE(text.find("\n## "), text.npos) << name << ": need a heading for each decision";
    EXPECT_LE(std::ranges::count(text, '\n'), 80) << name;
    for (std::sregex_iterator each(text.begin(), text.end(), file), end; each != end; ++each) {
      const std::string path = (*each)[1];
      EXPECT_TRUE(fs::exists(root / path) || fs::exists(root / "dynet_like" / path))
          << name << ": " << path;
      ++files;
    }
  }
  EXPECT_GT(pages, 8u);
  EXPECT_GT(files, 10u);
}

}  // namespace

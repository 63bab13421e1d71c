// docs/decisions: numbers of their own, one page each, all in the index, and the files that they
// name are there.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include "tests/support/source_text.h"

namespace {

namespace fs = std::filesystem;
using dynet_like::source_text;

class DecisionsTest : public ::testing::Test {
 protected:
  DecisionsTest() {
    for (const auto& entry : fs::directory_iterator(root_ / "docs/decisions")) {
      if (entry.path().filename() != "README.md") records_.push_back(entry.path());
    }
    std::ranges::sort(records_);
  }
  const fs::path root_ = std::getenv("DYNET_LIKE_SOURCE_DIR");
  std::vector<fs::path> records_;
};

TEST_F(DecisionsTest, AreInTheIndex) {
  const std::string index = source_text(root_ / "docs/decisions/README.md");
  EXPECT_GT(records_.size(), 20u);
  std::string last;
  for (const fs::path& record : records_) {
    const std::string text = source_text(record), name = record.filename();
    const std::string number = name.substr(0, 4);
    EXPECT_TRUE(std::regex_match(name, std::regex("[0-9]{4}-[a-z0-9-]+\\.md"))) << name;
    EXPECT_LT(last, number) << name;  // that of a record that was deleted stays free
    last = number;
    ASSERT_TRUE(text.starts_with("# " + number + ' ')) << name;
    const std::string title = text.substr(7, text.find('\n') - 7);
    EXPECT_NE(index.find("| [" + number + "](" + name + ") | " + title + " |"), index.npos) << name;
    EXPECT_LE(std::ranges::count(text, '\n'), 50) << name;
  }
}

TEST_F(DecisionsTest, NameFilesThatAreThere) {
  const std::regex path(R"(`([a-z_]+/[a-z_/]+(\.[a-z]+)?)`)");
  std::size_t found = 0;
  for (const fs::path& record : records_) {
    const std::string text = source_text(record);
    for (std::sregex_iterator each(text.begin(), text.end(), path), end; each != end; ++each) {
      const std::string name = (*each)[1];
      EXPECT_TRUE(fs::exists(root_ / name) || fs::exists(root_ / "dynet_like" / name))
          << record << ": " << name;
      ++found;
    }
  }
  EXPECT_GT(found, 10u);
}

}  // namespace

// The pages: what they link to is there, files as well as headings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Without blocks of code, in which [i](x) is no link and # no heading.
std::vector<std::string> prose_of(const fs::path& page) {
  std::vector<std::string> prose;
  bool is_code = false;
  for (const std::string& line : lines_of(page)) {
    if (line.starts_with("```")) {
      is_code = !is_code;
    } else if (!is_code) {
      prose.push_back(line);
    }
  }
  return prose;
}

// "## A kernel of your own" as a link names it: "a-kernel-of-your-own".
std::string anchor_of(const std::string& heading) {
  std::string anchor;
  for (const char c : heading.substr(heading.find_first_not_of('#') + 1)) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_') {
      anchor += static_cast<char>(std::tolower(byte));
    } else if (c == ' ') {
      anchor += '-';
    }
  }
  return anchor;
}

std::set<std::string> anchors_of(const fs::path& page) {
  std::set<std::string> anchors;
  for (const std::string& line : prose_of(page)) {
    if (line.starts_with('#')) anchors.insert(anchor_of(line));
  }
  return anchors;
}

// What is wrong with the links of a page.
std::vector<std::string> faults_of(const fs::path& page) {
  static const std::regex link(R"(\]\(([^)\s#]*)(#([^)\s]*))?\))");
  std::vector<std::string> faults;
  for (const std::string& line : prose_of(page)) {
    for (std::sregex_iterator match(line.begin(), line.end(), link), end; match != end; ++match) {
      const std::string path = (*match)[1], anchor = (*match)[3];
      if (path.starts_with("http")) continue;
      const fs::path target = path.empty() ? page : page.parent_path() / path;
      const bool is_there =
          fs::exists(target) && (anchor.empty() || anchors_of(target).contains(anchor));
      if (!is_there) faults.push_back(match->str());
    }
  }
  return faults;
}

TEST(LinksTest, AllLeadSomewhere) {
  const char* const root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  if (root == nullptr) GTEST_SKIP() << "need DYNET_LIKE_SOURCE_DIR, which ctest sets";
  std::vector<fs::path> pages = {fs::path(root) / "README.md", fs::path(root) / "CONTRIBUTING.md"};
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / "docs")) {
    if (entry.path().extension() == ".md") pages.push_back(entry.path());
  }
  EXPECT_GT(pages.size(), 40u);
  for (const fs::path& page : pages) {
    EXPECT_EQ(faults_of(page), std::vector<std::string>{}) << page;
  }
}

TEST(LinksTest, FindsWhatIsNotThere) {
  const fs::path page = fs::path(::testing::TempDir()) / "links_test.md";
  std::ofstream(page) << "# A page, with `code`\n[a](links_test.md) [b](#a-page-with-code)\n"
                      << "```cpp\n# no heading\nx = a[i](none.md);\n```\n"
                      << "[c](none.md) [d](#no-heading) [e](https://example.org/none)\n";
  EXPECT_EQ(faults_of(page), (std::vector<std::string>{"](none.md)", "](#no-heading)"}));
  fs::remove(page);
}

}  // namespace

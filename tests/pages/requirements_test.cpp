// What building needs, as cmake/Requirements.cmake says it: docs/installing.md and
// scripts/install_deps.sh say the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>
#include <string>

#include "tests/support/source_text.h"

namespace {

namespace fs = std::filesystem;
using dynet_like::source_text;

/// What stands between two words; empty if they are not there.
std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t first = text.find(begin);
  if (first == text.npos) return "";
  return text.substr(first, text.find(end, first) - first);
}

TEST(RequirementsTest, AreThoseOfTheBuild) {
  const fs::path root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  const std::string build = source_text(root / "cmake/Requirements.cmake");
  const std::string page = between(source_text(root / "docs/installing.md"), "The library needs",
                                   "examples and benchmarks");
  std::string script;  // the lines of its list that end so
  std::istringstream lines(source_text(root / "scripts/install_deps.sh"));
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with(" the library")) script += line + '\n';
  }
  const std::map<std::string, std::string> names = {{"fmt", "fmt"},
                                                    {"nlohmann_json", "nlohmann-json"},
                                                    {"Highway", "Highway"},
                                                    {"Eigen3", "Eigen"},
                                                    {"ZLIB", "zlib"},
                                                    {"Libzip", "libzip"},
                                                    {"Boost", "Boost"},
                                                    {"Utf8proc", "utf8proc"},
                                                    {"Oniguruma", "Oniguruma"}};
  // "core|Boost COMPONENTS context|...", or "Eigen3|libeigen3-dev".
  const std::regex package(
      R"re("(?:(?:core|nn)\|)?([A-Z]?\w+)( [0-9.]+)?( COMPONENTS (\w+))?\|[^"]*")re");
  std::size_t found = 0;
  for (std::sregex_iterator each(build.begin(), build.end(), package), end; each != end; ++each) {
    ASSERT_TRUE(names.contains((*each)[1])) << (*each)[1];
    const std::string name = names.at((*each)[1]), component = (*each)[4];
    ++found;
    for (const std::string& text : {page, script}) {
      EXPECT_NE(text.find(name), std::string::npos) << name << " in " << text;
      EXPECT_NE(text.find(component), std::string::npos) << component << " in " << text;
    }
  }
  EXPECT_EQ(found, names.size());
}

}  // namespace

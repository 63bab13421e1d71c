// docs/emulator.md: the tests that plant a fault for each check are there.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>

#include "tests/support/source_text.h"

namespace {

namespace fs = std::filesystem;
using dynet_like::source_text;

/// "Suite.Case" of every test in a folder, and "Faults.Name" of every row of the table of kernels.
std::set<std::string> tests_in(const fs::path& folder) {
  static const std::regex form(R"(\nTEST(_F)?\((\w+),\s*(\w+)\))"),
      row(R"row(\n    \{"(\w+)",)row");
  std::set<std::string> tests;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string text = source_text(entry.path());
    for (std::sregex_iterator each(text.begin(), text.end(), form), end; each != end; ++each) {
      tests.insert(each->str(2) + "." + each->str(3));
    }
    for (std::sregex_iterator each(text.begin(), text.end(), row), end; each != end; ++each) {
      tests.insert("Faults." + each->str(1));
    }
  }
  return tests;
}

TEST(CudaPageTest, EveryCheckHasATestWithAPlantedFault) {
  const fs::path root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  const std::string page = source_text(root / "docs/emulator.md");
  const std::set<std::string> tests = tests_in(root / "tests/emulator");
  const std::regex row(R"(\n\| ([^|\n]+) \| [^|\n]+ \| `(\w+\.\w+)` \|)");
  std::set<std::string> named;
  for (std::sregex_iterator each(page.begin(), page.end(), row), end; each != end; ++each) {
    EXPECT_TRUE(tests.contains((*each)[2])) << (*each)[1] << ": " << (*each)[2];
    EXPECT_TRUE(named.insert((*each)[2]).second) << (*each)[2];
  }
  EXPECT_GT(named.size(), 20u);
}

}  // namespace

// Messages say "1 integer" and "2 integers": a number that may be one is beside no plural.
#include <set>

#include "tests/support/source_text.h"

#include "tests/support/precompiled.h"

namespace dynet_like {
namespace {

// What follows a number, and is no noun in the plural.
const std::set<std::string> kOthers = {"as", "for",  "has",  "is",    "its", "less",   "mixes",
                                       "ms", "plus", "runs", "times", "was", "seconds"};

// The words of a source in which a number is followed by a plural that is always there.
std::vector<std::string> fixed_plurals(const std::string& source) {
  std::vector<std::string> found;
  for (const std::smatch& each : matches(
           source,
           R"re((to_string\([^";]*\)\s*\+\s*"|<<[^"<>;]*<<\s*"|[^a-z]\{\}) ([a-z]+s)\b(?!=))re")) {
    if (!kOthers.contains(each[2])) found.push_back(each[2]);
  }
  return found;
}

TEST(CountsTest, AreFoundInSources) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(fixed_plurals(R"(throw E("need " + std::to_string(n) + " bytes; got none");)"),
            Words{"bytes"});
  EXPECT_EQ(fixed_plurals("to_string(a.size()) +\n    \" words\""), Words{"words"});
  EXPECT_EQ(fixed_plurals("out << \"more than \" << others\n << \" arguments; got \" << n"),
            Words{"arguments"});
  EXPECT_EQ(fixed_plurals(R"(out << n << " is" << text << " lr=" << rate << " clips=" << clips)"),
            Words{});
  EXPECT_EQ(fixed_plurals(R"(fmt::format("{} rows of {}", n, m))"), Words{"rows"});
  EXPECT_EQ(fixed_plurals(R"(counted(n, "row") + " of " + to_string(m) + " is")"), Words{});
}

TEST(CountsTest, AgreeWithTheirNouns) {
  // The numbers of these are limits or means, or the text is compared with that of older files.
  const std::set<std::string> left_out = {"mpi_ranks.cpp", "event_file.cpp", "fingerprint.cpp",
                                          "served_parameters.cpp", "waves.cpp"};
  std::size_t files = 0;
  for (const char* folder : {"batching", "dynet_like", "nn"}) {
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(source_root() / folder)) {
      const std::string extension = entry.path().extension();
      if ((extension != ".h" && extension != ".cpp") ||
          left_out.contains(entry.path().filename())) {
        continue;
      }
      ++files;
      for (const std::string& word : fixed_plurals(source_text(entry.path()))) {
        ADD_FAILURE() << entry.path() << ": a number and \"" << word
                      << "\": use counted() of dynet_like/core/counted.h";
      }
    }
  }
  EXPECT_GT(files, 500u);
}

}  // namespace
}  // namespace dynet_like

// Units of text, spaces in MISC, and sentences as text.
#include "nn/pipeline/raw_text.h"

#include <sstream>

#include <gtest/gtest.h>

#include "nn/pipeline/text_reader.h"
#include "tests/pipeline/support.h"

namespace dynet_like::nn {
namespace {

std::vector<std::string> units_of(std::istream& stream) {
  RawUnits reader(stream);
  std::vector<std::string> units;
  while (const auto unit = reader.next())
    units.push_back((unit->is_space ? "~" : "") + unit->bytes);
  return units;
}

TEST(RawTextTest, UnitsAreCharactersAndRunsOfSpaces) {
  std::istringstream stream(
      "\xEF\xBB\xBF"
      "aé \t\xC2\xA0\n\nb\xFF\xE4\xBD");
  EXPECT_EQ(units_of(stream),
            (std::vector<std::string>{"~\xEF\xBB\xBF", "a", "é", "~ \t\xC2\xA0\n\n", "b", "\xFF",
                                      "\xE4", "\xBD"}));
  std::istringstream empty("");
  EXPECT_TRUE(units_of(empty).empty());
}

TEST(RawTextTest, UnitsDoNotDependOnReads) {
  Random random(1);
  for (int i = 0; i < 20; ++i) {
    const std::string text = random_text(random, i < 18 ? 50 : 50000);
    std::istringstream stream(text);
    const auto units = units_of(stream);
    for (const std::size_t size : {1, 2, 3, 7, 4096}) {
      SlowStream slow(text, size);
      EXPECT_EQ(units_of(slow), units);
    }
    std::string joined;
    for (const std::string& unit : units) joined += unit.substr(unit.starts_with('~') ? 1 : 0);
    EXPECT_EQ(joined, text);
  }
}

TEST(RawTextTest, MiscHasTheSpaces) {
  EXPECT_EQ(misc_of_spaces(" "), "_");
  EXPECT_EQ(misc_of_spaces(""), "SpaceAfter=No");
  EXPECT_EQ(misc_of_spaces(" \t\r\n|\\"), "SpacesAfter=\\s\\t\\r\\n\\p\\\\");
  EXPECT_EQ(misc_of_spaces(" ", "\n"), "SpacesBefore=\\n");
  EXPECT_EQ(misc_of_spaces("", " "), "SpaceAfter=No|SpacesBefore=\\s");
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = random_text(random, 6);
    ConlluColumns token = unknown_columns("x");
    token.misc = misc_of_spaces(text);
    EXPECT_EQ(spaces_after(token).value_or(" "), text);
  }
  EXPECT_EQ(unescaped_spaces("\\x\\"), "\\x\\");
  EXPECT_EQ(unescaped_spaces("\\u00A0\\u3000\\u0020\\u00"), "\xC2\xA0\xE3\x80\x80 \\u00");
}

TEST(RawTextTest, TextOfATreebank) {
  const auto text = [](const std::string& conllu) {
    std::istringstream stream(conllu);
    return text_of(read_conllu(stream, "treebank"));
  };
  const std::string rest = "\t_\t_\t_\t_\t_\t_\t_\t";
  EXPECT_EQ(text("# newdoc\n1-2\tdon't" + rest + "_\n1\tdo" + rest + "_\n2\tn't" + rest +
                 "_\n3\tgo" + rest + "SpaceAfter=No\n4\t." + rest + "_\n\n# newpar id = 2\n1\tNo" +
                 rest + "SpacesAfter=\\n|SpacesBefore=\\s\n\n1\t!" + rest + "SpaceAfter=No\n\n"),
            "don't go.\n\n No\n!");
}

}  // namespace
}  // namespace dynet_like::nn

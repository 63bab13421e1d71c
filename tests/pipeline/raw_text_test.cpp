// Units of text, spaces in MISC, and sentences as text.
#include "nn/pipeline/raw_text.h"

#include "nn/data/text.h"
#include "nn/pipeline/text_reader.h"
#include "tests/pipeline/support.h"
#include "tests/support/precompiled.h"

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

/// Which units are borders: "." for no, "B" for yes.
std::string borders_of(const std::string& text, bool lines) {
  std::istringstream stream(text);
  RawUnits reader(stream, lines);
  std::string borders;
  while (const auto unit = reader.next()) borders += unit->is_border ? 'B' : '.';
  return borders;
}

TEST(RawTextTest, BordersAreBlankLinesAndBothEnds) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a b\nc", "....."},      {" a b\n", "B...B"}, {"a\n\nb", ".B."},
      {"a\n \nb \n\n", ".B.B"}, {"\n", "B"},         {"", ""},
      {"a\r\nb", "..."}};
  for (const auto& [text, borders] : cases) EXPECT_EQ(borders_of(text, false), borders) << text;
  EXPECT_EQ(borders_of("a b\nc\r\n\r\nd", true), "...B.B.");
}

TEST(RawTextTest, ACharacterMayLieOverTwoBlocks) {
  for (std::size_t before = 65533; before <= 65537; ++before) {
    std::istringstream stream(std::string(before, 'a') + "😀b");
    const auto units = units_of(stream);
    ASSERT_EQ(units.size(), before + 2);
    EXPECT_EQ(units[before], "😀");
  }
}

TEST(RawTextTest, SpacesAreThoseOfUnicodeAndOfPython) {
  for (const std::string space :
       {" ",      "\t",     "\n",     "\v",     "\f",     "\r",     "\x1C",
        "\x1D",   "\x1E",   "\x1F",   "\u0085", "\u00A0", "\u1680", "\u2000",
        "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000", "\uFEFF"}) {
    EXPECT_EQ(space_bytes(space + "a"), space.size());
  }
  for (const std::string other : {"", "a", "\x1B", "\x7F", "\u200B", "\u00A1", "\xC2", "\xA0"}) {
    EXPECT_EQ(space_bytes(other), 0u);
  }
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
  EXPECT_EQ(misc_of_spaces({.after = " "}), "_");
  EXPECT_EQ(misc_of_spaces({}), "SpaceAfter=No");
  EXPECT_EQ(misc_of_spaces({.after = " \t\r\n|\\"}), "SpacesAfter=\\s\\t\\r\\n\\p\\\\");
  EXPECT_EQ(misc_of_spaces({.before = "\n", .after = " "}), "SpacesBefore=\\n");
  EXPECT_EQ(misc_of_spaces({.before = " "}), "SpaceAfter=No|SpacesBefore=\\s");
  EXPECT_EQ(misc_of_spaces({.after = " ", .token = "10\u00A0000|"}),
            "SpacesInToken=10\\u00A0000\\p");
  EXPECT_EQ(unescaped_spaces("\\x\\"), "\\x\\");
  EXPECT_EQ(unescaped_spaces("\\u00A0\\u3000\\u0020\\u00"), "\xC2\xA0\xE3\x80\x80 \\u00");
}

TEST(RawTextTest, MiscHasNoSpaceItself) {
  EXPECT_EQ(misc_of_spaces({.after = "\f\v\u0085\u00A0\u2028\u3000\uFEFF\x1C"}),
            "SpacesAfter=\\u000C\\u000B\\u0085\\u00A0\\u2028\\u3000\\uFEFF\\u001C");
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    const std::string text = random_text(random, 6);
    ConlluColumns token = unknown_columns("x");
    token.misc = misc_of_spaces({.before = text, .after = text, .token = text});
    for (const std::string& character : split_line(token.misc, TextUnit::character)) {
      EXPECT_EQ(space_bytes(character), 0u) << token.misc;
    }
    EXPECT_EQ(spaces_after(token).value_or(" "), text);
    if (!text.empty()) {
      EXPECT_EQ(unescaped_spaces(*conllu_value(token.misc, "SpacesInToken")), text);
    }
  }
}

TEST(RawTextTest, TextOfATreebank) {
  const auto text = [](const std::string& conllu) {
    return text_of(read_conllu(TextSource::of(conllu, "treebank")));
  };
  const std::string rest = "\t_\t_\t_\t_\t_\t_\t_\t";
  EXPECT_EQ(text("# newdoc\n1-2\tdon't" + rest + "_\n1\tdo" + rest + "_\n2\tn't" + rest +
                 "_\n3\tgo" + rest + "SpaceAfter=No\n4\t." + rest + "_\n\n# newpar id = 2\n1\tNo" +
                 rest + "SpacesAfter=\\n|SpacesBefore=\\s\n\n1\t!" + rest + "SpaceAfter=No\n\n"),
            "don't go.\n\n No\n!");
  EXPECT_EQ(text("1\tA" + rest + "SpacesAfter=\\n\n\n# newdoc id = 2\n1\tB" + rest +
                 "SpacesAfter=\\n\\n\\n\n\n# newpar\n1\t10 000" + rest +
                 "SpacesInToken=10\\u00A0000\n\n1\t5 6" + rest + "_\n\n"),
            "A\n\nB\n\n\n10\u00A0000 5 6 ");
}

TEST(RawTextTest, TheEndsOfTokensInTheText) {
  std::vector<std::size_t> ends;
  EXPECT_EQ(
      text_of(read_conllu(TextSource::of(
                  "1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_\n1\tdo\t_\t_\t_\t_\t_\t_\t_\t_\n"
                  "2\tn't\t_\t_\t_\t_\t_\t_\t_\t_\n3\tgo\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No\n\n",
                  "treebank")),
              &ends),
      "don't go");
  EXPECT_EQ(ends, (std::vector<std::size_t>{5, 8}));
}

}  // namespace
}  // namespace dynet_like::nn

// Text as characters or words: cutting, putting together, limits.
#include "nn/data/text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "dynet_like/core/errors.h"
#include "tests/support/file_errors.h"

namespace dynet_like::nn {
namespace {

using Units = std::vector<std::string>;

Text read(const std::string& text, TextUnit unit) {
  return read_text(TextSource::of(text, "text"), unit);
}

TEST(DataTextTest, CharactersAreThoseOfUtf8) {
  EXPECT_EQ(split_line("aé 你😀", TextUnit::character), (Units{"a", "é", " ", "你", "😀"}));
  EXPECT_EQ(count_characters("aé 你😀\n"), 6u);
}

TEST(DataTextTest, BytesThatAreNoUtf8StandForThemselves) {
  EXPECT_EQ(split_line("\x80z", TextUnit::character), (Units{"\x80", "z"}));
  EXPECT_EQ(split_line("\xC3z", TextUnit::character), (Units{"\xC3", "z"}));
  EXPECT_EQ(split_line("\xE4\xBD", TextUnit::character), (Units{"\xE4", "\xBD"}));  // cut off
  EXPECT_EQ(split_line("\xFF\x80\x80\x80", TextUnit::character),
            (Units{"\xFF", "\x80", "\x80", "\x80"}));
}

TEST(DataTextTest, WordsAreWhatSpacesAndTabsPart) {
  EXPECT_EQ(split_line("  to be,\tor  not "), (Units{"to", "be,", "or", "not"}));
  EXPECT_TRUE(split_line(" \t ", TextUnit::word).empty());
}

TEST(DataTextTest, NumbersUnitsInTheirOrder) {
  const Text text = read("abb\na", TextUnit::character);
  EXPECT_EQ(text.units, (std::vector<std::uint32_t>{0, 1, 1, 2, 0, 2}));
  EXPECT_EQ(text.vocabulary.word(2), "\n");
  EXPECT_EQ(text.vocabulary.count(1), 2u);
  EXPECT_FALSE(text.vocabulary.frozen());
}

TEST(DataTextTest, TextComesBack) {
  const std::string text = "To be, or not\n\nto be:\n that \n";
  const Text characters = read(text, TextUnit::character), words = read(text, TextUnit::word);
  EXPECT_EQ(join_units(characters.vocabulary, characters.units, TextUnit::character), text);
  EXPECT_EQ(join_units(words.vocabulary, words.units), "To be, or not\n\nto be:\nthat\n");
}

TEST(DataTextTest, ShakespearesPlaysAreReadWhole) {
  const std::string path = data_file("tinyshakespeare/input.txt");
  if (path.empty()) {
    GTEST_SKIP() << "needs tinyshakespeare/input.txt in the folder that DYNET_LIKE_DATA names";
  }
  const Text text = read_text(path, TextUnit::character);
  EXPECT_EQ(text.units.size(), 1'115'394u);
  EXPECT_EQ(text.vocabulary.size(), 65u);
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  EXPECT_TRUE(join_units(text.vocabulary, text.units, TextUnit::character) == bytes.str());
}

}  // namespace
}  // namespace dynet_like::nn

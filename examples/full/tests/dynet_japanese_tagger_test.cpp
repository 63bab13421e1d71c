// How the Japanese tagger treats characters and words, with a small dictionary.
#include <gtest/gtest.h>

#include <fstream>

#include "dynet_like/core/errors.h"
#include "examples/full/dynet_japanese_tagger/dictionary.h"

namespace dynet_like::examples {
namespace {

std::string write(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path) << text;
  return path;
}

// か + ゛ is が, a + two marks is one character, ｶ and ﾞ are half as wide; A to z, and two kinds of
// kanji.
const std::string kCharacters =
    "space\t20\nspace\t3000\n"
    "class\t3099 8\nclass\t301 E6\nclass\t323 DC\n"
    "decomposes\t304C 304B 3099\ncomposes\t304B 3099 304C\n"
    "decomposes\t1EA1 61 323\ncomposes\t61 323 1EA1\n"
    "decomposes\t30AC 30AB 3099\ncomposes\t30AB 3099 30AC\n"
    "decomposes\tFF76 30AB\ndecomposes\tFF9E 3099\ndecomposes\t3000 20\n"
    "decomposes\tC9 45 301\ncomposes\t45 301 C9\n"
    "lower\t41 61\nlower\tC9 E9\nalphanumeric\t41 7A\nalphanumeric\t4E00 9FFF\n";

std::string write_dictionary() {
  write("characters.tsv", kCharacters);
  for (const char* name : {"unigrams.tsv", "bigrams.tsv", "words.tsv"}) {
    write(name, "oov\t2\npad\t1\nの\t0\n");
  }
  write("tags.tsv", "oov\t0\n助詞\t1\n名詞\t2\n");
  write("tags_of_words.tsv", "の\t1\n犬\t0 1\nno tab here\t0\n");
  return testing::TempDir();
}

TEST(JapaneseCharactersTest, AreMadeNormal) {
  const Characters characters(write("characters.tsv", kCharacters));
  EXPECT_EQ(characters.normalized(U"か\u3099き"), U"がき");
  EXPECT_EQ(characters.normalized(U"が"), U"が");
  EXPECT_EQ(characters.normalized(U"ｶﾞ"), U"ガ");
  // Marks are sorted by class. A mark after another of the same class composes with nothing.
  EXPECT_EQ(characters.normalized(U"a\u0301\u0323"), U"\u1EA1\u0301");
  EXPECT_EQ(characters.normalized(U"か\u3099\u3099"), U"が\u3099");
  EXPECT_EQ(characters.normalized(U"E\u3099\u0301"), U"\u00C9\u3099");
  EXPECT_EQ(characters.normalized(U"\u3099か"), U"\u3099か");
  EXPECT_EQ(characters.normalized(U""), U"");
  EXPECT_EQ(characters.lower(U"AÉz"), U"aéz");
}

TEST(JapaneseCharactersTest, AreReadAndWritten) {
  for (const char* text : {"", "a", "\u00E9", "\u304C", "\U0001F600 \u304C\u00E9a"}) {
    EXPECT_EQ(to_text(to_characters(text)), text);
  }
  EXPECT_EQ(to_characters("\U0001F600"), U"\U0001F600");
  EXPECT_THROW(to_characters("\xFF"), UsageError);
  EXPECT_THROW(to_characters("\xE3\x81"), UsageError);
  EXPECT_THROW(Characters(write("bad.tsv", "space\t20\nspace\tx\n")), FileError);
  EXPECT_THROW(Characters(write("bad.tsv", "space\t110000\n")), FileError);
  EXPECT_THROW(Characters(write("bad.tsv", "space\n")), FileError);
}

TEST(JapaneseCharactersTest, HaveTypes) {
  const std::u32string text = U"あアー犬aZ0ａ。";
  const unsigned types[] = {0, 1, 5, 2, 3, 3, 4, 5, 5};
  for (std::size_t i = 0; i < text.size(); ++i) EXPECT_EQ(character_type(text[i]), types[i]) << i;
}

TEST(JapaneseDictionaryTest, PreparesLinesAndKnowsTags) {
  const Dictionary dictionary(write_dictionary());
  EXPECT_EQ(dictionary.prepared("ｶﾞ \u0130 \u3000"), U"ガ\u3000I");
  EXPECT_EQ(dictionary.prepared(" \u3000"), U"");
  EXPECT_EQ(dictionary.words[U"の"], 0u);
  EXPECT_EQ(dictionary.words[U"犬"], 2u);
  EXPECT_EQ(dictionary.words.find(U"犬"), nullptr);
  EXPECT_EQ(dictionary.tags, (std::vector<std::string>{"oov", "助詞", "名詞"}));
  using Tags = std::vector<unsigned>;
  EXPECT_EQ(dictionary.tags_of(U"の"), Tags{1});       // not a letter in this table
  EXPECT_EQ(dictionary.tags_of(U"犬"), (Tags{1, 2}));  // may also be a noun
  EXPECT_EQ(dictionary.tags_of(U"abc"), Tags{2});      // not in the dictionary: a noun
  EXPECT_EQ(dictionary.tags_of(U"。"), Tags{0});
}

TEST(JapaneseDictionaryTest, RefusesOtherFiles) {
  EXPECT_THROW(Ids(write("bad.tsv", "pad\t1\n")), FileError);  // no "oov"
  EXPECT_THROW(Ids(write("bad.tsv", "oov\t0\npad\n")), FileError);
  EXPECT_THROW(Ids(write("bad.tsv", "oov\t0\npad\tx\n")), FileError);
  EXPECT_THROW(Ids(write("bad.tsv", "oov\t0\npad\t-1\n")), FileError);
  EXPECT_THROW(Ids(testing::TempDir() + "/none.tsv"), FileError);
}

}  // namespace
}  // namespace dynet_like::examples

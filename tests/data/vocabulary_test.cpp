// Vocabularies: ids, counts, freezing, trimming, files good and bad, and words of one source.
#include <set>

#include "dynet_like/io/safetensors.h"
#include "nn/data/source_vocabulary.h"
#include "nn/data/vocabulary.h"
#include "tests/support/damaged_files.h"
#include "tests/support/file_errors.h"
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

/// What a file of the vocabulary says, with "|" for line ends.
std::string shown(const Vocabulary& vocabulary) {
  std::string text = vocabulary.to_text();
  std::ranges::replace(text, '\n', '|');
  std::ranges::replace(text, '\t', ' ');
  return text;
}

struct VocabularyFile : FolderTest {
  /// Loads the text and checks where the error is and what it says.
  void expect_error(const std::string& text, std::size_t line, std::size_t column,
                    const std::string& part) const {
    write(text);
    expect_file_error([&] { Vocabulary::load(path()); }, line, column, part);
  }
};

using Ids = std::vector<std::uint32_t>;
using WordList = std::vector<std::string>;

TEST(Vocabulary, NumbersWordsAndCountsThem) {
  Vocabulary words;
  words.add_all(WordList{"a", "b", "a"});
  words.add_all(std::vector<std::string_view>{"c"});
  EXPECT_EQ(words.add("a"), 0u);
  EXPECT_EQ(shown(words), "a 3|b 1|c 1|");
  EXPECT_EQ(words.size(), 3u);
  EXPECT_EQ(words.ids(WordList{"c", "a"}), (Ids{2, 0}));
  EXPECT_EQ(words.words(Ids{1, 1, 2}), (WordList{"b", "b", "c"}));
  EXPECT_TRUE(words.contains("a") && !words.contains("d"));
  EXPECT_FALSE(words.unknown().has_value());
  EXPECT_THROW(words.ids(WordList{"a", "d"}), UsageError);
  EXPECT_THROW(words.words(Ids{0, 3}), UsageError);
  EXPECT_TRUE(mentions(message_of<UsageError>([&] { words.id("missing"); }), "\"missing\""));
  EXPECT_THROW(words.add(""), UsageError);
  EXPECT_THROW(words.word(3), UsageError);
  EXPECT_THROW(words.count(3), UsageError);
}

TEST(Vocabulary, OfSamples) {
  struct Sample {
    WordList words;
    std::string label;
    WordList reversed() const { return {words.rbegin(), words.rend()}; }
  };
  const std::vector<Sample> samples = {{{"a", "b"}, "good"}, {{"c", "a"}, "bad"}};
  EXPECT_EQ(shown(vocabulary_of(samples, &Sample::words)), "a 2|b 1|c 1|");
  EXPECT_EQ(shown(vocabulary_of(samples, &Sample::label)), "good 1|bad 1|");
  EXPECT_EQ(shown(vocabulary_of(samples, &Sample::reversed)), "b 1|a 2|c 1|");
  const auto first = [](const Sample& sample) { return sample.words[0]; };
  const Vocabulary words = vocabulary_of(std::span(samples), first, "<unknown>");
  EXPECT_EQ(shown(words), "<unknown> 0 unknown|a 1|c 1|");
  EXPECT_EQ(words.id("d"), words.unknown());
}

TEST(Vocabulary, FreezesIdsAndCounts) {
  Vocabulary words;
  words.add("a");
  words.freeze();
  EXPECT_TRUE(words.frozen());
  EXPECT_EQ(words.add("a"), 0u);
  EXPECT_EQ(words.count(0), 1u);
  EXPECT_THROW(words.add("b"), UsageError);
  EXPECT_THROW(words.set_unknown("<unk>"), UsageError);
  EXPECT_EQ(words.set_unknown("a"), 0u);
  EXPECT_EQ(words.add("b"), 0u);
  EXPECT_EQ(words.size(), 1u);
}

TEST(Vocabulary, UnknownWordStandsForOthers) {
  Vocabulary words;
  words.add("a");
  EXPECT_EQ(words.set_unknown("<unk>"), 1u);
  EXPECT_EQ(words.id("b"), 1u);
  EXPECT_EQ(words.add("b"), 2u) << "an unknown word must not stop words from being added";
  EXPECT_EQ(words.id("b"), 2u);
  words.freeze();
  const Vocabulary trimmed = words.trimmed(2);
  EXPECT_EQ(shown(trimmed), "<unk> 2 unknown|");
  EXPECT_EQ(trimmed.id("a"), 0u);
  EXPECT_FALSE(trimmed.frozen());
}

TEST(Vocabulary, NormalisesWhatIsAddedAndLookedUp) {
  Vocabulary words({.lower_case = true, .digits = true});
  for (const char* word : {"The", "THE", "été1"}) words.add(word);
  EXPECT_EQ(words.set_unknown("<UNK>"), 2u);
  EXPECT_EQ(shown(words), "\\lower-case|\\digits|the 2|été0 1|<unk> 0 unknown|");
  EXPECT_EQ(words.id("tHe"), 0u);
  EXPECT_TRUE(words.contains("Été7"));
  EXPECT_EQ(words.find("ÉTÉ0"), 1u);
  EXPECT_EQ(words.find("other"), std::nullopt);
  EXPECT_EQ(words.id("\xFFThe"), 2u) << "bytes that are not UTF-8";
  EXPECT_EQ(shown(words.trimmed(2)), "\\lower-case|\\digits|the 2|<unk> 1 unknown|");
  EXPECT_EQ(words.trimmed(2).id("THE"), 0u);
  words.freeze();
  EXPECT_EQ(words.set_unknown("THE"), 0u);
}

// The unknown word has a count of its own, at every limit and in every place.
TEST(Vocabulary, TheUnknownWordKeepsItsCountWhenTrimmed) {
  for (const char* unknown : {"a", "b", "c"}) {
    for (std::uint64_t least = 0; least < 5; ++least) {
      Vocabulary words;
      words.add_all(WordList{"a", "b", "c", "b", "c", "c"});  // 1, 2, 3 times
      words.set_unknown(unknown);
      const Vocabulary trimmed = words.trimmed(least);
      std::uint64_t total = 0;
      for (std::uint32_t id = 0; id < trimmed.size(); ++id) {
        total += trimmed.count(id);
        const std::uint64_t own = words.count(*words.find(trimmed.word(id)));
        if (trimmed.unknown() == id) {
          EXPECT_EQ(trimmed.word(id), unknown);
          EXPECT_GE(trimmed.count(id), own);
        } else {
          EXPECT_EQ(trimmed.count(id), own);
          EXPECT_GE(own, least);
        }
      }
      EXPECT_EQ(total, 6u) << "nothing is lost: " << unknown << ' ' << least;
      for (const char* word : {"a", "b", "c"}) {
        const bool stays = word == std::string(unknown) || words.count(words.id(word)) >= least;
        EXPECT_EQ(trimmed.contains(word), stays) << word << ' ' << unknown << ' ' << least;
      }
    }
  }
}

TEST_F(VocabularyFile, KeepsHowWordsAreNormalised) {
  for (const auto& [normalisation, front] :
       {std::pair(WordNormalisation{}, ""),
        {{.lower_case = true}, "\\lower-case\n"},
        {{.digits = true}, "\\digits\n"},
        {{.lower_case = true, .digits = true}, "\\lower-case\n\\digits\n"}}) {
    Vocabulary words(normalisation);
    words.add("a");
    words.set_unknown("\\b");
    EXPECT_EQ(words.to_text(), std::string(front) + "a\t1\n\\\\b\t0\tunknown\n");
    words.save(path());
    const Vocabulary loaded = Vocabulary::load(path());
    EXPECT_EQ(loaded.normalisation(), normalisation);
    EXPECT_EQ(loaded.to_text(), words.to_text());
    EXPECT_EQ(loaded.id("A"), normalisation.lower_case ? 0u : 1u);
  }
}

TEST_F(VocabularyFile, WritesOneReadableLinePerWord) {
  Vocabulary words;
  words.add("a");
  words.add("a");
  words.set_unknown("<unk>");
  words.save(path());
  EXPECT_EQ(words.to_text(), "a\t2\n<unk>\t0\tunknown\n");
  // The CRC-32 of these 20 bytes, as Python's zlib has it.
  EXPECT_EQ(contents(), "\\checksum\tcrc32\t02289713\n" + words.to_text());
}

TEST_F(VocabularyFile, DamageIsSeen) {
  Vocabulary words;
  for (int i = 0; i < 200; ++i) words.add("word" + std::to_string(i % 150));
  words.add("\n");
  words.set_unknown(std::string("\0 unknown", 9));
  words.save(path());
  const Damaged damaged = expect_damage_is_seen(
      path(), [](const std::string& path) { return Vocabulary::load(path).to_text(); });
  EXPECT_GE(damaged.refused, 1190u);  // hexadecimal digits in capitals, and no line end at the end
}

TEST_F(VocabularyFile, ALineWithAnotherChecksumIsRefused) {
  Vocabulary words;
  words.add("a");
  words.save(path());
  const std::string good = contents(), lines = "a\t1\n";
  std::string windows;
  for (const char c : good) windows += c == '\n' ? "\r\n" : std::string(1, c);
  write(windows);
  EXPECT_EQ(Vocabulary::load(path()).to_text(), lines) << "another program's line ends";
  write(lines);
  EXPECT_EQ(Vocabulary::load(path()).to_text(), lines) << "without a checksum";
  expect_error(good + "b\t1\n", 0, 0, "need lines with the checksum \"");
  expect_error(good + "b\t1\n", 0, 0, ": the file is damaged");
  expect_error(good.substr(0, good.find('\n') - 1) + "\n" + lines, 0, 0, "need lines with");
  expect_error(lines + good, 2, 1, "backslash");
  expect_error("\\checksum\tcrc32\t\n" + lines, 0, 0, "checksum \"\"");
  for (const std::size_t lost : {10, 23, 24, 25}) {  // to the line's first tab, its end, and behind
    expect_error(std::string(lost, '\0') + good.substr(lost), 1, 1, "got a zero byte");
  }
}

// As they were written before there were checksums.
TEST_F(VocabularyFile, MayHaveZeroBytesInWords) {
  for (const std::string& text : {std::string("a\0b\t1\n", 6), std::string("a\t1\n\0b\t1\n", 9)}) {
    const Vocabulary words = Vocabulary::from_text(text, "file");
    EXPECT_EQ(words.word(words.size() - 1).size(), text.size() == 6 ? 3u : 2u);
    EXPECT_EQ(words.count(words.size() - 1), 1u);
    EXPECT_EQ(Vocabulary::from_text(words.to_text(), "file").words(Ids{0}), words.words(Ids{0}));
  }
}

TEST_F(VocabularyFile, ReadsPlainLists) {
  write("[PAD]\n[UNK]\r\n\\\na\tb\n\"\n##ing\n\xe4\xba\xba\n unused");
  Vocabulary words = Vocabulary::load_list(path());
  EXPECT_EQ(words.words(Ids{0, 1, 2, 3, 4, 5, 6, 7}),
            (WordList{"[PAD]", "[UNK]", "\\", "a\tb", "\"", "##ing", "\xe4\xba\xba", " unused"}));
  EXPECT_EQ(words.size(), 8u);
  EXPECT_TRUE(words.frozen());
  EXPECT_EQ(words.count(7), 0u);
  EXPECT_EQ(words.set_unknown("[UNK]"), 1u);
  EXPECT_EQ(words.id("##inG"), 1u);
  words.save(path());
  EXPECT_EQ(Vocabulary::load(path()).to_text(), words.to_text());
  for (const auto& [text, line, part] : {std::tuple("", 0, "empty file"),
                                         {"a\n\nb\n", 2, "empty line"},
                                         {"a\nb\na\n", 3, "\"a\""}}) {
    const std::string copy = text;
    expect_file_error([&] { Vocabulary::from_list(copy, "list"); }, static_cast<std::size_t>(line),
                      0, part);
  }
}

TEST_F(VocabularyFile, LoadsWordsWithoutCountsAndWindowsLineEnds) {
  const Vocabulary loaded = Vocabulary::load(write("a\r\nb\t7\r\nc"));
  EXPECT_TRUE(loaded.frozen());
  EXPECT_EQ(shown(loaded), "a 0|b 7|c 0|");
}

TEST_F(VocabularyFile, LinesHaveALimit) {
  expect_error("a\t1\n" + std::string(9'000'000, 'b') + "\n", 2, 0, "8388608");
}

TEST_F(VocabularyFile, RejectsFilesThatCannotBeWritten) {
  EXPECT_THROW(Vocabulary().save(path()), UsageError);
  Vocabulary words;
  words.add("a");
  EXPECT_THROW(words.save(path() + "/there/is/no/such/folder"), FileError);
  std::filesystem::create_directories(path() + "/folder");
  EXPECT_THROW(words.save(path()), FileError);
}

TEST_F(VocabularyFile, IsTextForTheMetadataOfAModel) {
  // All pairs of bytes, and what begins like longer characters of UTF-8: a few are UTF-8.
  std::set<std::string> all = {"\u00e9t\u00e9", "\U0001F600", "\xF4\x8F\xBF\xBF", "\xED\x9F\xBF"};
  for (int a = 0; a < 256; ++a) {
    for (int b = 0; b < 256; ++b) all.insert({static_cast<char>(a), static_cast<char>(b)});
  }
  for (const char* first : {"\xE0", "\xED", "\xEF", "\xF0", "\xF4", "\xF5", "\xF8"}) {
    for (const char* second : {"\x7F", "\x80", "\x8F", "\x90", "\x9F", "\xA0", "\xBF", "\xC0"}) {
      for (const char* rest : {"\xBF", "\xBF\xBF", "\xBF\xBF\xBF"}) {
        all.insert(std::string(first) + second + rest);
      }
    }
  }
  Vocabulary words;
  for (const std::string& word : all) words.add(word);
  write_safetensors(path(), {}, {{"words", words.to_text()}});  // which refuses what is not UTF-8
  const std::string text = SafetensorsFile::read(path()).metadata().at("words");
  const Vocabulary loaded = Vocabulary::from_text(text, path());
  ASSERT_EQ(loaded.size(), words.size());
  for (std::uint32_t id = 0; id < words.size(); ++id) EXPECT_EQ(loaded.word(id), words.word(id));
  for (const char* readable : {"\u00e9t\u00e9\t1\n", "\U0001F600\t1\n", "\xF4\x8F\xBF\xBF\t1\n",
                               "\xED\x9F\xBF\t1\n", "\xEF\xBF\xBF\t1\n"}) {
    EXPECT_NE(text.find(readable), std::string::npos) << readable;
  }
  EXPECT_NE(text.find("\n\\xed\\xa0\\xbf\t1\n"), std::string::npos);  // a surrogate
}

TEST(SourceVocabularyTest, OwnWordsFollowThoseOfTheVocabulary) {
  Vocabulary vocabulary;
  const std::uint32_t unknown = vocabulary.set_unknown("<unk>");
  vocabulary.add_all(WordList{"the", "cat"});
  vocabulary.freeze();
  const SourceVocabulary words(vocabulary, WordList{"the", "ocelot", "met", "ocelot"});
  EXPECT_EQ(words.source(), (Ids{1, 3, 4, 3}));
  EXPECT_EQ(words.size(), 5u);
  EXPECT_EQ(words.id("cat"), 2u);
  EXPECT_EQ(words.id("met"), 4u);
  EXPECT_EQ(words.id("lynx"), unknown);
  EXPECT_EQ(words.word(2), "cat");
  EXPECT_EQ(words.word(3), "ocelot");
  EXPECT_EQ(words.row(2), 2u);
  EXPECT_EQ(words.row(3), unknown);
  EXPECT_THROW(words.word(5), UsageError);
  EXPECT_EQ(vocabulary.size(), 3u);
}

TEST(SourceVocabularyTest, NormalisesWhereTheVocabularyDoes) {
  Vocabulary vocabulary({.lower_case = true});
  vocabulary.add("cat");
  const SourceVocabulary words(vocabulary, WordList{"Cat", "Ocelot"});
  EXPECT_EQ(words.source(), (Ids{0, 1}));
  EXPECT_EQ(words.word(1), "Ocelot");
}

TEST(SourceVocabularyTest, NeedsAnUnknownWordForOthers) {
  Vocabulary vocabulary;
  vocabulary.add("cat");
  const SourceVocabulary words(vocabulary, WordList{"ocelot"});
  EXPECT_THROW(words.id("lynx"), UsageError);
  EXPECT_THROW(words.row(1), UsageError);
  EXPECT_THROW(SourceVocabulary(vocabulary, WordList{""}), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn

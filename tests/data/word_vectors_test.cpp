// Word vectors: the formats of word2vec and GloVe, files good and bad, tables.
#include "nn/data/word_vectors.h"

#include "tests/support/file_errors.h"
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/zip_archive.h"

namespace dynet_like::nn {
namespace {

using Floats = std::vector<float>;
using Words = std::vector<std::pair<std::string, Floats>>;

Words read(const std::string& text, const WordVectorOptions& options = {}) {
  WordVectorReader reader(TextSource::of(text, "vectors"), options);
  Words words;
  while (reader.next()) {
    words.emplace_back(reader.word(), Floats(reader.vector().begin(), reader.vector().end()));
  }
  EXPECT_FALSE(reader.next());
  return words;
}

void expect_vector_error(const std::string& text, std::size_t line, const std::string& part,
                         const WordVectorOptions& options = {}) {
  expect_file_error([&] { read(text, options); }, line, 0, part);
}

TEST(WordVectorReader, ReadsTheFormatsInUse) {
  const Words expected = {{"the", {0.5f, -2, 1e-3f}}, {",", {1, 2, 3}}};
  EXPECT_EQ(read("the 0.5 -2 1e-3\n, 1 2 3\n"), expected) << "GloVe";
  EXPECT_EQ(read("2 3\nthe 0.5 -2 1e-3 \n, 1 2 3 \n"), expected) << "word2vec";
  EXPECT_EQ(read("2 3\n</s> 0.0012 -0.1 0.25 \nthe 0.5 -2.0 1e-3 \n"),
            (Words{{"</s>", {0.0012f, -0.1f, 0.25f}}, expected[0]}))
      << "fastText";
  EXPECT_EQ(read("the\t0.500000\t-2\t+.001\r\n,  1\t 2 3"), expected) << "others";
  EXPECT_EQ(read("0 300\n"), Words());
}

TEST(WordVectorReader, TakesWordsWithBlanks) {
  EXPECT_EQ(read("the 1 2\nat name@domain.com 3 4\n. . . 5 6\n"),
            (Words{{"the", {1, 2}}, {"at name@domain.com", {3, 4}}, {". . .", {5, 6}}}));
  EXPECT_EQ(read("1 2\nat x 3 4\n"), (Words{{"at x", {3, 4}}}));
}

TEST(WordVectorReader, TheLastFieldsAreTheNumbers) {
  EXPECT_EQ(read("2 2\na 3 4\nMay 5 0.1 0.2\n"), (Words{{"a", {3, 4}}, {"May 5", {0.1f, 0.2f}}}));
  EXPECT_EQ(read("a 3 4\nMay 5 1 2\n1 2 3 4 5\n"),
            (Words{{"a", {3, 4}}, {"May 5", {1, 2}}, {"1 2 3", {4, 5}}}));
  EXPECT_EQ(read("2 2\n  1 2\n\t\t3 4 \n"), (Words{{" ", {1, 2}}, {"\t", {3, 4}}}));
  EXPECT_EQ(read("a 1 2\n  1 2\n")[1].first, " ");
}

TEST(WordVectorReader, MayStopEarly) {
  const std::string text = "100 2\na 1 2\nb 3 4\n";
  EXPECT_EQ(read(text, {.most_words = 2}).size(), 2u);
  EXPECT_EQ(read(text, {.most_words = 1}).size(), 1u);
  EXPECT_EQ(read(text, {.most_words = 0}).size(), 0u);
  expect_vector_error(text, 3, "need 100 words, as the first line says; got 2");
  expect_vector_error(text, 3, "need 100 words", {.most_words = 3});
  EXPECT_EQ(read("a 1\nb 2\nbroken\n", {.most_words = 2}).size(), 2u) << "reads no further";
}

TEST(WordVectorReader, MaySkipLines) {
  std::uint64_t skipped = 0;
  const WordVectorOptions options = {.skipped_lines = &skipped};
  EXPECT_EQ(read("3 2\na 1 2\nb 1\n\nc 1 nan\n d 1 2\nd x 2\n1 2\ne 3 4\n", options),
            (Words{{"a", {1, 2}}, {"e", {3, 4}}}));
  EXPECT_EQ(skipped, 6u);
  EXPECT_EQ(read("a 1 2\nb 1\n", options), (Words{{"a", {1, 2}}}));
  EXPECT_EQ(skipped, 7u);
  EXPECT_EQ(read("1 1\na 1\nb 2\n", options).size(), 2u) << "more than the first line says";
  EXPECT_EQ(skipped, 7u);
  expect_vector_error("word\n", 1, "\"word\"", options);
  expect_vector_error("", 0, "empty file", options);
}

TEST(WordVectorReader, TakesNumbersAsWords) {
  EXPECT_EQ(read("the 1 2\n1999 3 4\n0.5 5 6\nnan 7 8\n"),
            (Words{{"the", {1, 2}}, {"1999", {3, 4}}, {"0.5", {5, 6}}, {"nan", {7, 8}}}));
  EXPECT_EQ(read("7 1.5\n8 2\n"), (Words{{"7", {1.5f}}, {"8", {2}}})) << "no line of sizes";
}

TEST(WordVectorReader, GivesAWordThatComesAgain) {
  EXPECT_EQ(read("a 1\na 2\n"), (Words{{"a", {1}}, {"a", {2}}}));
}

TEST(WordVectorReader, KnowsItsLineAndSize) {
  WordVectorReader reader(TextSource::of("1 2\na 1 2\n", "vectors"));
  EXPECT_EQ(reader.size(), 0u);
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.size(), 2u);
  EXPECT_EQ(reader.line(), 2u);
}

TEST(WordVectorReader, ChecksTheLineOfSizes) {
  std::uint64_t skipped = 0;
  for (std::uint64_t* counts : {static_cast<std::uint64_t*>(nullptr), &skipped}) {
    for (const char* text : {"5 1\n5 1 2\n", "2 2\nthe 1 2 3\n, 1 2 3\n"}) {
      expect_vector_error(text, 2, ", as the first line says; got more", {.skipped_lines = counts});
    }
  }
  EXPECT_EQ(read("1 2\n1999 3 4\n"), (Words{{"1999", {3, 4}}}));
  expect_vector_error("1 11\na 1\n", 1, "need 1 to 10 numbers", {.limits = {.max_line_bytes = 20}});
}

/// An array of numpy: its name, its type, its shape as Python writes it, and its bytes.
struct Array {
  std::string name, type, shape, bytes;
};

template <class Number>
std::string bytes_of(const std::vector<Number>& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)};
}

void write_arrays(const std::string& path, const std::vector<Array>& arrays) {
  std::vector<ZipMember> members;
  for (const auto& [name, type, shape, bytes] : arrays) {
    const std::string dictionary =
        "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + "}\n";
    members.push_back({.name = name + ".npy",
                       .bytes = "\x93NUMPY" + little_endian(1, 2) +
                                little_endian(dictionary.size(), 2) + dictionary + bytes});
  }
  const std::vector<std::byte> archive = archive_of(members);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(archive.data()),
             static_cast<std::streamsize>(archive.size()));
}

struct WordVectorFile : FolderTest {
  WordVectorFile() {
    for (const char* word : {"a", "b", "c"}) vocabulary_.add(word);
    table_ = model_.add_lookup_parameters(4, {2}, ParameterInitConst(9));
  }

  Vocabulary vocabulary_;
  ParameterCollection model_;
  LookupParameter table_;
};

TEST_F(WordVectorFile, FillsTheRowsOfItsWords) {
  write("b 1 2\nelse 3 4\na 5 6\nb 7 8\n");
  EXPECT_EQ(read_word_vectors(path(), vocabulary_, table_), 2u);
  EXPECT_EQ(as_vector(table_.all_values()), (Floats{5, 6, 1, 2, 9, 9, 9, 9}));
}

TEST_F(WordVectorFile, NormalisesAsTheVocabularyDoes) {
  Vocabulary words({.lower_case = true, .digits = true});
  for (const char* word : {"The", "Été", "1999", "other"}) words.add(word);
  write("THE 1 2\nthe 3 4\nThe 5 6\nthe 0 0\nÉTÉ 7 8\nÉté 0 0\n2024 1 1\n1999 0 0\n");
  EXPECT_EQ(read_word_vectors(path(), words, table_), 3u);
  EXPECT_EQ(as_vector(table_.all_values()), (Floats{3, 4, 7, 8, 1, 1, 9, 9}))
      << "the form itself, or else the first";
}

TEST_F(WordVectorFile, GivesItsWordsToAVocabulary) {
  Vocabulary words({.lower_case = true});
  words.add("the");
  write("The 1\nCat 2\ncat 3\nsat 4\nbroken\n");
  EXPECT_EQ(add_words_with_vectors(path(), words, 0), 0u);
  EXPECT_EQ(add_words_with_vectors(path(), words, 2), 2u) << "reads no further";
  EXPECT_EQ(words.words(std::vector<std::uint32_t>{0, 1, 2}),
            (std::vector<std::string>{"the", "cat", "sat"}));
  EXPECT_EQ(words.count(0), 1u);
  EXPECT_THROW(add_words_with_vectors(path(), words, 3), FileError);
  words.freeze();
  EXPECT_THROW(add_words_with_vectors(path(), words, 2), UsageError);
}

TEST_F(WordVectorFile, TakesPartOfABadFile) {
  write("3 2\na 5 6\nbroken\nb 1 2\nc 7 8\n");
  EXPECT_THROW(read_word_vectors(path(), vocabulary_, table_), FileError);
  std::uint64_t skipped = 0;
  EXPECT_EQ(
      read_word_vectors(path(), vocabulary_, table_, {.most_words = 2, .skipped_lines = &skipped}),
      2u);
  EXPECT_EQ(skipped, 1u);
  EXPECT_EQ(as_vector(table_.all_values()), (Floats{5, 6, 1, 2, 9, 9, 9, 9}));
  Vocabulary words;
  EXPECT_EQ(add_words_with_vectors(path(), words, 9, {.skipped_lines = &skipped}), 3u);
  EXPECT_EQ(skipped, 2u);
}

TEST_F(WordVectorFile, ChangesNothingIfItIsBad) {
  for (const char* text : {"a 1 2 3\n", "a 1 2\nb x 2\n", "3 2\na 1 2\n", ""}) {
    write(text);
    EXPECT_THROW(read_word_vectors(path(), vocabulary_, table_), FileError) << text;
    EXPECT_EQ(as_vector(table_.all_values()), Floats(8, 9)) << text;
  }
  write("a 1 2\n");
  vocabulary_.add("d");
  vocabulary_.add("e");
  EXPECT_THROW(read_word_vectors(path(), vocabulary_, table_), UsageError);
  EXPECT_THROW(write_word_vectors(path(), vocabulary_, table_), UsageError);
}

/// Four words, three of which share a vector.
const Array kKeys = {"keys", "|S3", "(4,)", std::string("b\0\0thea\0\0c\0\0", 12)};
const Array kVectors = {"vectors", "<f4", "(2, 2)", bytes_of(Floats{1, 2, 3, 4})};
const Array kRows = {"rows", "<i8", "(4,)", bytes_of(std::vector<std::int64_t>{1, 0, 1, 1})};

TEST_F(WordVectorFile, MayBeArraysWithVectorsThatWordsShare) {
  const std::string file = path("arrays.npz");
  write_arrays(file, {kVectors, kKeys, kRows});
  EXPECT_EQ(read_word_vectors(file, vocabulary_, table_), 3u);
  EXPECT_EQ(as_vector(table_.all_values()), (Floats{3, 4, 3, 4, 3, 4, 9, 9}));
  EXPECT_EQ(add_words_with_vectors(file, vocabulary_, 9, {.most_words = 1}), 0u);
  EXPECT_EQ(add_words_with_vectors(file, vocabulary_, 9), 1u);
  EXPECT_EQ(vocabulary_.word(3), "the");
}

TEST_F(WordVectorFile, ArraysMayHaveAVectorPerWord) {
  const std::string file = path("arrays.npz");
  const std::vector<std::uint32_t> keys = {U'é', U'b', U'c', 0};
  const std::vector<std::uint16_t> halves = {0x3C00, 0xC500};
  write_arrays(file, {{"keys", "<U2", "(2,)", bytes_of(keys)},
                      {"vectors", "<f2", "(2, 1)", bytes_of(halves)}});
  WordVectorReader reader(file);
  EXPECT_EQ(reader.size(), 1u) << "known at once";
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(reader.word(), "éb");
  EXPECT_EQ(reader.vector()[0], 1.0f);
  EXPECT_TRUE(reader.next());
  EXPECT_EQ(reader.vector()[0], -5.0f);
  EXPECT_FALSE(reader.next());
}

TEST_F(WordVectorFile, RefusesArraysThatDoNotFit) {
  const std::string file = path("arrays.npz");
  const auto expect_refused = [&](const std::vector<Array>& arrays, const std::string& part) {
    write_arrays(file, arrays);
    const std::string message =
        message_of<FileError>([&] { read_word_vectors(file, vocabulary_, table_); });
    EXPECT_NE(message.find(file), message.npos) << message;
    EXPECT_NE(message.find(part), message.npos) << message;
    EXPECT_EQ(as_vector(table_.all_values()), Floats(8, 9)) << part;
  };
  const auto rows = [](std::int32_t last) {
    return Array{"rows", "<i4", "(4,)", bytes_of(std::vector<std::int32_t>{0, 1, 1, last})};
  };
  expect_refused({kKeys, kRows}, "need an array \"vectors\" [n, size] of F32 or F16; got none");
  expect_refused({kKeys, {"vectors", "<f8", "(1, 1)", std::string(8, '\0')}}, "got F64 [1, 1]");
  expect_refused({kKeys, {"vectors", "<f4", "(4,)", bytes_of(Floats{1, 2, 3, 4})}}, "got F32 [4]");
  expect_refused({kKeys, {"vectors", "<f4", "(4, 0)", ""}}, "got F32 [4, 0]");
  expect_refused({kKeys, {"vectors", "<f4", "(2, 1)", bytes_of(Floats{1, INFINITY})}, kRows},
                 "need finite numbers in \"vectors\"");
  expect_refused({kVectors, kRows}, "need an array of texts named \"keys\"; got none");
  expect_refused({{"keys", "<i4", "(4,)", std::string(16, '\0')}, kVectors, kRows}, "\"I32\"");
  expect_refused({kKeys, kVectors}, "need \"keys\" [2], one per vector; got |S3 [4]");
  expect_refused({kKeys, kVectors, {"rows", "<i4", "(1,)", std::string(4, '\0')}},
                 "need \"keys\" [1], one per row; got |S3 [4]");
  expect_refused({kKeys, kVectors, {"rows", "<f4", "(4,)", std::string(16, '\0')}},
                 "need an array \"rows\" [words] of I32 or I64; got F32 [4]");
  expect_refused({kKeys, kVectors, rows(2)}, "need rows below 2, the number of vectors; got 2");
  expect_refused({kKeys, kVectors, rows(-1)}, "need rows below 2");
  expect_refused({{"keys", "|S3", "(4,)", "b" + std::string(11, '\0')}, kVectors, rows(0)},
                 "need words in \"keys\"; got an empty one at 1");
  std::ofstream(file) << "a 1 2\n";
  EXPECT_THROW(WordVectorReader{file}, FileError) << "text under this name";
}

TEST_F(WordVectorFile, WritesWhatItReads) {
  table_.initialize(0, {0.1f, -3});
  write_word_vectors(path(), vocabulary_, table_);
  EXPECT_EQ(contents(), "a 1e-01 -3e+00\nb 9e+00 9e+00\nc 9e+00 9e+00\n");
  table_.zero();
  EXPECT_EQ(read_word_vectors(path(), vocabulary_, table_), 3u);
  EXPECT_EQ(as_vector(table_.all_values()), (Floats{0.1f, -3, 9, 9, 9, 9, 0, 0}));
}

TEST_F(WordVectorFile, EveryFloatComesBack) {
  using Limits = std::numeric_limits<float>;
  Floats values = {0.0f, -0.0f, Limits::max(), Limits::lowest(), Limits::denorm_min()};
  Random random(1);
  while (values.size() < 100'000) {
    const auto value = std::bit_cast<float>(random());
    if (std::isfinite(value)) values.push_back(value);
  }
  WordVectorWriter writer(path());
  for (std::size_t i = 0; i < values.size(); ++i) {
    writer.write(std::to_string(i), std::span(&values[i], 1));
  }
  EXPECT_FALSE(std::filesystem::exists(path())) << "before commit";
  writer.commit();
  WordVectorReader reader(path());
  for (const float value : values) {
    ASSERT_TRUE(reader.next());
    ASSERT_EQ(std::bit_cast<std::uint32_t>(reader.vector()[0]), std::bit_cast<std::uint32_t>(value))
        << reader.line();
  }
  EXPECT_FALSE(reader.next());
}

TEST_F(WordVectorFile, RefusesToWriteWhatCouldNotBeRead) {
  WordVectorWriter writer(path());
  const Floats vector = {1, 2};
  for (const char* word : {"", "a b", "a\t", "a\n", "\r"}) {
    EXPECT_THROW(writer.write(word, vector), UsageError) << word;
  }
  EXPECT_THROW(writer.write("a", Floats{}), UsageError);
  EXPECT_THROW(writer.write("a", Floats{1, INFINITY}), UsageError);
  writer.write("a", vector);
  EXPECT_THROW(writer.write("b", Floats{1}), UsageError);
  writer.commit();
  EXPECT_EQ(contents(), "a 1e+00 2e+00\n");
  EXPECT_THROW(WordVectorWriter(path() + "/no/folder"), FileError);
}

}  // namespace
}  // namespace dynet_like::nn

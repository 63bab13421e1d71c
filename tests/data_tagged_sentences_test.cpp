// Readers of tagged sentences: both formats, their errors, and the real data sets.
#include "nn/data/tagged_sentences.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {
namespace {

using Sentences = std::vector<TaggedSentence>;
using Reader = Sentences (*)(std::istream&, const std::string&, const TextLimits&);

Sentences conllu(const std::string& text, const TextLimits& limits = {}) {
  std::istringstream stream(text);
  return read_conllu(stream, "file", limits);
}

Sentences columns(const std::string& text, const TextLimits& limits = {}) {
  std::istringstream stream(text);
  return read_columns(stream, "file", limits);
}

void expect_error(Reader reader, const std::string& text, std::size_t line, std::size_t column,
                  const std::string& part) {
  std::istringstream stream(text);
  try {
    reader(stream, "file", {});
    ADD_FAILURE() << "no error for " << text;
  } catch (const FileError& error) {
    EXPECT_EQ(error.file(), "file");
    EXPECT_EQ(error.line(), line) << text;
    EXPECT_EQ(error.column(), column) << text;
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

/// A line with these two columns among ten.
std::string token(const std::string& id, const std::string& form, const std::string& tag) {
  return id + "\t" + form + "\t_\t" + tag + "\t_\t_\t0\troot\t_\t_\n";
}

TEST(ConlluTest, ReadsWordsAndTags) {
  const Sentences sentences = conllu("# newdoc\n# text = We don't\n" + token("1", "We", "PRON") +
                                     token("2-3", "don't", "_") + token("2", "do", "AUX") +
                                     token("3", "n't", "PART") + token("3.1", "go", "VERB") +
                                     "\n\n# a comment alone\n\n" + token("1", "10 000", "NUM"));
  EXPECT_EQ(sentences,
            (Sentences{{{"We", "do", "n't"}, {"PRON", "AUX", "PART"}}, {{"10 000"}, {"NUM"}}}));
}

TEST(ConlluTest, LinesOfAnyEnding) {
  std::string text = token("1", "a", "X");
  text.insert(text.size() - 1, "\r");
  EXPECT_EQ(conllu(text + "\r\n" + token("1", "b", "Y")),
            (Sentences{{{"a"}, {"X"}}, {{"b"}, {"Y"}}}));
}

TEST(ConlluTest, Errors) {
  expect_error(read_conllu, "1\ta\n", 1, 0, "need 10 columns with tabs between them; got 2");
  expect_error(read_conllu, token("1", "a", "X") + token("2", "b", "X\tY"), 2, 0, "got 11");
  expect_error(read_conllu, token("2", "a", "X"), 1, 1, "need the number 1 of a word; got \"2\"");
  expect_error(read_conllu, token("1", "a", "X") + token("1", "b", "X"), 2, 1, "number 2");
  expect_error(read_conllu, token("1", "a", "X") + "\n" + token("2", "b", "X"), 3, 1, "number 1");
  expect_error(read_conllu, token("1-", "a", "X"), 1, 1, "\"1-\"");
  expect_error(read_conllu, token("1.x", "a", "X"), 1, 1, "\"1.x\"");
  expect_error(read_conllu, token("", "a", "X"), 1, 1, "\"\"");
  expect_error(read_conllu, token("1", "", "X"), 1, 3, "need a word");
  expect_error(read_conllu, token("1", "ab", ""), 1, 8, "need a tag");
  expect_error(read_conllu, "", 0, 0, "at least one sentence");
  expect_error(read_conllu, "# nothing\n\n" + token("1-2", "a", "_"), 0, 0, "one sentence");
}

TEST(ColumnsTest, ReadsWordsAndTags) {
  EXPECT_EQ(
      columns("Ann\tB-person\nLee\tI-person\n\t\nsaw\tO\n \t \n\n\n#\tO\n"),
      (Sentences{{{"Ann", "Lee"}, {"B-person", "I-person"}}, {{"saw"}, {"O"}}, {{"#"}, {"O"}}}));
  EXPECT_EQ(columns("a b\tX\r\n\t\r\nc\tY"), (Sentences{{{"a b"}, {"X"}}, {{"c"}, {"Y"}}}));
}

TEST(ColumnsTest, Errors) {
  expect_error(read_columns, "a\tO\nb\n", 2, 0, "need 2 columns with tabs between them; got 1");
  expect_error(read_columns, "a\tO\tO\n", 1, 0, "got 3");
  expect_error(read_columns, "\n\tO\n", 2, 1, "need a word");
  expect_error(read_columns, "abc\t\n", 1, 5, "need a tag");
  expect_error(read_columns, " \n\t\n", 0, 0, "at least one sentence");
}

TEST(TaggedSentencesTest, LimitsOfLinesAndFiles) {
  EXPECT_THROW(columns("abcdefgh\tO\n", {9, 100}), FileError);
  EXPECT_NO_THROW(columns("abcdefgh\tO\n", {10, 100}));
  EXPECT_THROW(columns("a\tO\nb\tO\nc\tO\n", {10, 11}), FileError);
  EXPECT_THROW(conllu(token("1", "a", "X"), {10, 100}), FileError);
}

TEST(TaggedSentencesTest, FilesThatAreNotThere) {
  for (const std::string& path : {std::string("there/is/no/such/file"), testing::TempDir()}) {
    EXPECT_THROW(read_conllu(path), FileError);
    EXPECT_THROW(read_columns(path), FileError);
  }
}

/// The number of sentences and words, and all tags.
struct Counts {
  std::size_t sentences = 0, words = 0, entities = 0;
  std::set<std::string> tags;

  explicit Counts(const Sentences& read) : sentences(read.size()) {
    for (const TaggedSentence& sentence : read) {
      words += sentence.words.size();
      tags.insert(sentence.tags.begin(), sentence.tags.end());
      for (const std::string& tag : sentence.tags) entities += tag.starts_with("B-") ? 1 : 0;
    }
  }
};

/// A data set, where the machine has it.
class RealDataTest : public testing::Test {
 protected:
  static std::string path(const char* file) {
    const char* data = std::getenv("DYNET_LIKE_DATA");
    const std::filesystem::path found = std::filesystem::path(data != nullptr ? data : "") / file;
    return data != nullptr && std::filesystem::exists(found) ? found.string() : "";
  }
};

TEST_F(RealDataTest, EnglishWebTreebankHasThePublishedCounts) {
  const std::string train = path("ud_english_ewt/en_ewt-ud-train.conllu"),
                    test = path("ud_english_ewt/en_ewt-ud-test.conllu");
  if (train.empty() || test.empty()) {
    GTEST_SKIP() << "needs ud_english_ewt in the folder that DYNET_LIKE_DATA names";
  }
  const Counts counts(read_conllu(train));
  EXPECT_EQ(counts.sentences, 12544u);
  EXPECT_EQ(counts.words, 204577u);
  EXPECT_EQ(counts.tags.size(), 17u);
  EXPECT_EQ(Counts(read_conllu(test)).words, 25094u);
}

TEST_F(RealDataTest, EmergingEntitiesHaveThePublishedCounts) {
  const std::string train = path("wnut17/wnut17train.conll"),
                    test = path("wnut17/emerging.test.annotated");
  if (train.empty() || test.empty()) {
    GTEST_SKIP() << "needs wnut17 in the folder that DYNET_LIKE_DATA names";
  }
  const Counts counts(read_columns(train));
  EXPECT_EQ(counts.sentences, 3394u);
  EXPECT_EQ(counts.words, 62730u);
  EXPECT_EQ(counts.entities, 1975u);
  EXPECT_EQ(counts.tags.size(), 13u);
  const Counts tested(read_columns(test));
  EXPECT_EQ(tested.sentences, 1287u);
  EXPECT_EQ(tested.entities, 1079u);
}

}  // namespace
}  // namespace dynet_like::nn

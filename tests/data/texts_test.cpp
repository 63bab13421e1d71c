// Files of tab-separated columns, parallel text, SCAN and plain text: what is read, and
// errors.
#include "nn/data/tab_separated.h"
#include "nn/data/text.h"
#include "nn/data/text_pairs.h"
#include "tests/support/file_errors.h"
#include "tests/support/folder_test.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {
namespace {

using Pairs = std::vector<TextPair>;
using Table = std::vector<std::vector<std::string>>;

Table table(const std::string& text, const std::vector<Column>& columns,
            const TabSeparatedOptions& options = {}) {
  return read_tab_separated(TextSource::of(text, "file"), columns, options);
}

Pairs parallel(const std::string& first, const std::string& second, const TextLimits& limits = {}) {
  return read_parallel_text(TextSource::of(first, "first"), TextSource::of(second, "second"),
                            limits);
}

Pairs scan(const std::string& text) { return read_scan(TextSource::of(text, "file")); }

using TabSeparatedTest = FolderTest;
using ParallelTextTest = FolderTest;

TEST_F(TabSeparatedTest, ColumnsAreChosenByNumberAndName) {
  const std::string text = "id\tlabel\ttext\n1\tgood\t\"a\" film\n\n2\tbad\t\r\n";
  EXPECT_EQ(table(text, {"text", "label"}), (Table{{"\"a\" film", "good"}, {"", "bad"}}));
  EXPECT_EQ(table(text, {std::string("label"), 0}), (Table{{"good", "1"}, {"bad", "2"}}));
  EXPECT_EQ(table(text, {0}), (Table{{"id"}, {"1"}, {"2"}}));
  EXPECT_EQ(table(text, {0u, 0}, {.has_header = true}), (Table{{"1", "1"}, {"2", "2"}}));
  EXPECT_EQ(table("one", {0}), (Table{{"one"}}));
}

TEST_F(TabSeparatedTest, Errors) {
  const auto expect_error = [](const std::string& text, const std::vector<Column>& columns,
                               std::size_t line, const std::string& part) {
    expect_file_error([&] { table(text, columns); }, line, 0, part);
  };
  expect_error("a\tb\nc\n", {0}, 2, "need 2 columns with tabs between them; got 1");
  expect_error("a\tb\nc\td\te\n", {0}, 2, "need 2 columns with tabs between them; got 3");
  expect_error("\na\tb\n", {2}, 2, "need a column with number 2, counted from 0; got 2 columns");
  expect_error("a\tb\nc\td\n", {"c"}, 1,
               "need one column that is named \"c\"; got none, the nearest are \"a\", \"b\"");
  expect_error("a\ta\nc\td\n", {"a"}, 1, "need one column that is named \"a\"; got several");
  expect_error("a\tb\n", {"a"}, 0, "need at least one line of columns; got none");
  expect_error(" \n", {"a"}, 0, "need at least one line of columns; got none");
  expect_error("", {0}, 0, "need at least one line of columns; got none");
  EXPECT_THROW(table("a\n", {}), UsageError);
}

TEST_F(TabSeparatedTest, LinesMayDifferInLength) {
  const TabSeparatedOptions ragged = {.ragged = true};
  EXPECT_EQ(table("a\tb\nc\nd\te\tf\n", {2, 0, 1}, ragged),
            (Table{{"", "a", "b"}, {"", "c", ""}, {"f", "d", "e"}}));
  EXPECT_EQ(table("x\ty\n1\n1\t2\t3\n", {"y", "x"}, ragged), (Table{{"", "1"}, {"2", "1"}}));
  const auto expect_error = [&](const std::string& text, const std::vector<Column>& columns,
                                std::size_t line, const std::string& part) {
    expect_file_error([&] { table(text, columns, ragged); }, line, 0, part);
  };
  expect_error("a\tb\nc\n", {2}, 0,
               "need a column with number 2, counted from 0, in some line; got at most 2 columns");
  expect_error("x\ty\n1\t2\t3\n", {"x", 2}, 1, "need a column with number 2");
  expect_error("\n", {0}, 0, "need at least one line of columns; got none");
  const std::string file = write("good\ta film\nbad\n\tx\n");
  expect_file_error([&] { read_labelled_texts(file, {}, ragged); }, 3, 1, "need a label");
}

TEST_F(TabSeparatedTest, MalformedLinesMayBeSkipped) {
  std::uint64_t skipped = 0;
  const TabSeparatedOptions lenient = {.skipped_lines = &skipped};
  EXPECT_EQ(table("x\ty\n1\n1\t2\t3\n3\t4\n", {"y"}, lenient), (Table{{"4"}}));
  EXPECT_EQ(skipped, 2u);
  EXPECT_EQ(table("1\n2\t3\n", {1}, lenient), (Table{{"3"}}));
  EXPECT_EQ(skipped, 3u);
  const std::string file = write("good\ta film\nbad\n\tx\n");
  EXPECT_EQ(read_labelled_texts(file, {}, lenient),
            (std::vector<LabelledText>{{"good", "a film"}}));
  EXPECT_EQ(read_text_pairs(file, {.first = 1, .second = 1, .label = 0}, lenient),
            (Pairs{{"a film", "a film", "good"}}));
  EXPECT_EQ(skipped, 7u);
  const auto fail = [&](const std::string& text, std::size_t line, const std::string& part) {
    expect_file_error([&] { table(text, {"y"}, lenient); }, line, 0, part);
  };
  fail("x\n1\n", 1, "need one column that is named \"y\"");
  fail("x\ty\n1\n", 0, "need at least one line of columns; got none");
}

TEST_F(TabSeparatedTest, LabelledTexts) {
  const std::string file = write("1\tgood film\n0\t\n");
  EXPECT_EQ(read_labelled_texts(file), (std::vector<LabelledText>{{"1", "good film"}, {"0", ""}}));
  const std::string named = write("text\tlabel\ngood film\t1\nbad\t\n", "named");
  const LabelledTextColumns columns = {.label = "label", .text = "text"};
  expect_file_error([&] { read_labelled_texts(named, columns); }, 3, 5,
                    "need a label; got nothing");
}

TEST_F(TabSeparatedTest, PairsWithAndWithoutLabels) {
  const std::string file = write("label\tpremise\thypothesis\nneutral\ta dog\ta pet\n\t\tb\n");
  EXPECT_EQ(read_text_pairs(file, {.first = 1, .second = "hypothesis"}),
            (Pairs{{"a dog", "a pet", ""}, {"", "b", ""}}));
  const TextPairColumns columns = {.first = "premise", .second = "hypothesis", .label = "label"};
  expect_file_error([&] { read_text_pairs(file, columns); }, 3, 1, "need a label; got nothing");
  const std::string good = write("a\tb\tyes\nc\td\tno\n", "good");
  EXPECT_EQ(read_text_pairs(good, {.label = 2}), (Pairs{{"a", "b", "yes"}, {"c", "d", "no"}}));
  EXPECT_EQ(read_text_pairs(good), (Pairs{{"a", "b", ""}, {"c", "d", ""}}));
}

TEST_F(ParallelTextTest, LinesBelongTogether) {
  EXPECT_EQ(parallel("a b\n\nc", "A B\r\nx\nC\n"),
            (Pairs{{"a b", "A B", ""}, {"", "x", ""}, {"c", "C", ""}}));
  const std::string file = write("a\nb\n");
  EXPECT_EQ(read_parallel_text(file, file), (Pairs{{"a", "a", ""}, {"b", "b", ""}}));
}

TEST_F(ParallelTextTest, Errors) {
  expect_file_error([] { parallel("a\nb\n", "A\n"); }, 2, 0,
                    "first:2: need as many lines as in second, 1; got more");
  expect_file_error([] { parallel("", "A\n"); }, 1, 0,
                    "second:1: need as many lines as in first, 0; got more");
  expect_file_error([] { parallel("", ""); }, 0, 0, "need at least one line; got none");
  expect_file_error(
      [] {
        parallel("a\nbb\n", "abc\na\n", {2, 100});
      },
      1, 0, "second:1: need at most");
}

TEST(ScanTest, CommandsAndActions) {
  EXPECT_EQ(scan("IN: jump twice OUT: I_JUMP I_JUMP\n\nIN: walk OUT: I_WALK"),
            (Pairs{{"jump twice", "I_JUMP I_JUMP", ""}, {"walk", "I_WALK", ""}}));
}

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

}  // namespace
}  // namespace dynet_like::nn

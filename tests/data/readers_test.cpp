// What all readers of text have in common: places of faults, limits, files that are not there, byte
// order marks.
#include "nn/data/conllu.h"
#include "nn/data/listops.h"
#include "nn/data/penn_trees.h"
#include "nn/data/tab_separated.h"
#include "nn/data/tagged_sentences.h"
#include "nn/data/text.h"
#include "nn/data/text_pairs.h"
#include "nn/data/treebank.h"
#include "nn/data/vocabulary.h"
#include "nn/data/word_vectors.h"
#include "tests/support/file_errors.h"
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"
#include "tests/support/table.h"

namespace dynet_like::nn {
namespace {

const std::string kMark = "\xEF\xBB\xBF";

/// A reader, a file that it takes, and the first string of what it makes of it.
struct Reader {
  std::string name, text;
  std::function<std::string(const std::string& path, const TextLimits& limits)> first;
  bool may_be_empty = false;
};

std::vector<Reader> readers() {
  const auto words = [](const Tree& tree) { return tree.words().front(); };
  const std::string conllu = "1\ta\t_\tX\t_\t_\t0\tr\t_\t_\n";
  return {
      {"text", "a b\n",
       [](auto& path, auto& limits) {
         const Text text = read_text(path, TextUnit::word, limits);
         return text.units.empty() ? "" : text.vocabulary.word(0);
       },
       true},
      {"conllu", conllu,
       [](auto& path, auto& limits) { return read_conllu(path, limits)[0].words[0].form; }},
      {"conllu tags", "# comment\n" + conllu,
       [](auto& path, auto& limits) { return read_conllu_tags(path, limits)[0].words[0]; }},
      {"conllu plus", "# global.columns = ID FORM NE\n1\ta\tX\n",
       [](auto& path, auto& limits) {
         return read_conllu_plus(path, "NE", "FORM", limits)[0].words[0];
       }},
      {"columns", "a\tX\n",
       [](auto& path, auto& limits) { return read_columns(path, {.limits = limits})[0].words[0]; }},
      {"table", "a\tX\n",
       [](auto& path, auto& limits) {
         return read_tab_separated(path, {0}, {.limits = limits})[0][0];
       }},
      {"labels", "a\tsome text\n",
       [](auto& path, auto& limits) {
         return read_labelled_texts(path, {}, {.limits = limits})[0].label;
       }},
      {"named columns", "label\ttext\na\tsome text\n",
       [](auto& path, auto& limits) {
         return read_labelled_texts(path, {.label = "label", .text = "text"}, {.limits = limits})[0]
             .label;
       }},
      {"pairs", "a\tb\n",
       [](auto& path, auto& limits) {
         return read_text_pairs(path, {}, {.limits = limits})[0].first;
       }},
      {"parallel text", "a\n",
       [](auto& path, auto& limits) { return read_parallel_text(path, path, limits)[0].second; },
       true},
      {"scan", "IN: a OUT: b\n",
       [](auto& path, auto& limits) { return read_scan(path, limits)[0].first; }},
      {"treebank", "(3 (2 a) (4 b))\n",
       [=](auto& path, auto& limits) { return words(read_treebank(path, {.limits = limits})[0]); }},
      {"penn trees", "(S (A b))\n",
       [=](auto& path, auto& limits) {
         Vocabulary labels;
         return words(read_penn_trees(path, labels, {.limits = limits})[0]);
       }},
      {"listops", "3\t( ( ( [MAX 2 ) 3 ) ] )\n",
       [=](auto& path, auto& limits) { return words(read_listops(path, {.limits = limits})[0]); }},
      {"word vectors", "a 1 2\n",
       [](auto& path, auto& limits) {
         WordVectorReader reader(path, {.limits = limits});
         while (reader.next()) {
         }
         return std::string(reader.word());
       }},
      {"vocabulary", "a\t1\n", [](auto& path, auto&) { return Vocabulary::load(path).word(0); }},
      {"list", "a\n", [](auto& path, auto&) { return Vocabulary::load_list(path).word(0); }},
  };
}

using ReadersTest = FolderTest;

TEST_F(ReadersTest, NeedAFileWithContents) {
  for (const Reader& reader : readers()) {
    SCOPED_TRACE(reader.name);
    EXPECT_EQ(message_of<FileError>([&] { reader.first(path("none"), {}); }),
              path("none") + ": there is no such file");
    EXPECT_EQ(message_of<FileError>([&] { reader.first(folder(), {}); }),
              folder() + ": need a file; got a directory");
    for (const char* text : {"", "\n", "\n\n"}) {
      write(text);
      if (!reader.may_be_empty) {
        EXPECT_THROW(reader.first(path(), {}), FileError) << text;
      }
    }
  }
}

/// Faults of files: a text, the line and the column where it is, 0 for none, and what the message
/// must say. A line "# NAME" is in front of those of a reader.
constexpr char kFaults[] = R"T(
# treebank
(5 a) | 1:2 | "5"
(-1 a) | 1:2 | "-1"
(3 (2 It) (99999999999 x)) | 1:12 | "99999999999"
(x a) | 1:2 | "x"
(2.0 a) | 1:2 | "2.0"
(3 (2 a) (It)) | 1:11 | "It"
((2 It) (3 x)) | 1:2 | label missing
() | 1:2 | label missing
( | 1:2 | label missing
(2 (3 b)) | 1:1 | got 1
(0 (1 x) (2 (3 a) (3 b) (3 c))) | 1:10 | got 3
(2) | 1:3 | word missing
(3 (2 a) (2 )) | 1:13 | word missing
(2 a b) | 1:6 | "b"
(2 a (3 b)) | 1:6 | after a word
(2 (3 b) a) | 1:10 | after a subtree
(3 (2 It) (2 a) | 1:16 | 1 closing bracket(s) missing
(3 (2 It | 1:9 | 2 closing bracket(s) missing
(2 a)) | 1:6 | superfluous
) | 1:1 | superfluous
(2 a) b | 1:7 | "b"
(2 a) (2 b) | 1:7 | second one
a (2 b) | 1:1 | "a"
(2 a)\n\n(2 b)\n(2 (3 c))\n | 4:1 | got 1
# listops
x\t5 | 1:1 | "x"
10\t5 | 1:1 | "10"
-1\t5 | 1:1 | "-1"
\t5 | 1:1 | label
5 | 1:0 | tab
8\t( ( ( [MAX 2 ) 9 ) ] ) | 1:1 | expression, 9,
9\t( ( ( [FIRST 2 ) 9 ) ] ) | 1:9 | unknown operator "[FIRST"
9\t( ( ( [MAX 12 ) 9 ) ] ) | 1:14 | "12"
9\t( ( ( [MAX 2 ) 9 ) ] | 1:23 | 1 closing bracket(s) missing
9\t( ( ( [MAX 2 ) 9 ) ] ) ) | 1:26 | text after
9\t( ( ( [MAX 2 ) 9 ) ] ) 4 | 1:26 | "4"
9\t) | 1:3 | superfluous
9\t( ( [MAX 2 9 ) ] ) | 1:5 | got 3
9\t( [MAX ) | 1:3 | got 1
9\t( ) | 1:3 | got 0
9\t( [MAX ] ) | 1:3 | arguments
9\t( 2 9 ) | 1:3 | arguments
9\t( [MAX ( 2 ] ) ) | 1:10 | arguments
9\t( ( [MAX 9 ) 9 ) | 1:19 | closed by
9\t[MAX | 1:7 | closed by
9\t] | 1:4 | closed by
9\t | 1:3 | got none
3\t3\n4\t3\n | 2:1 | expression, 3,
# columns
a\tO\nb\n | 2:0 | need 2 columns with tabs between them; got 1
a\tO\tO\n | 1:0 | got 3
\n\tO\n | 2:1 | need a word
abc\t\n | 1:5 | need a tag
 \n\t\n | 0:0 | at least one sentence
# vocabulary
 | 0:0 | empty file
\\lower-case\n | 0:0 | empty file
\\lower-case\na\nThe\t2\n | 3:0 | "the"; got "The"
\\digits\n7\n | 2:0 | "0"; got "7"
a\n\\digits\n | 2:1 | backslash
\\digit\n | 1:1 | backslash
a\t1\n\t2\n | 2:1 | empty one
a\t1\n\nb\t1\n | 2:1 | empty one
a\t1\nb\t1\na\t2\n | 3:0 | "a"
a\tx\n | 1:3 | "x"
a\t\n | 1:3 | count
a\t-1\n | 1:3 | "-1"
a\t99999999999999999999\n | 1:3 | count
a\t1\tother\n | 1:5 | "other"
a\t1\tunknown\tb\n | 1:0 | 3 fields
a\t1\tunknown\nb\t1\tunknown\n | 2:0 | unknown
ab\\y\t1\n | 1:3 | backslash
ab\\ | 1:3 | backslash
ab\\x\t1\n | 1:3 | two hexadecimal digits
a\\x-1 | 1:2 | two hexadecimal digits
# word vectors
 | 0:0 | empty file
a 1 2\0\n | 1:0 | \\x00
May 5 1 2\na 3 4\n | 2:0 | need a word and 3 finite numbers; got "a"
\n | 1:0 | ""
word\n | 1:0 | "word"
word \t\n | 1:0 | "word"
 1 2\n | 1:0 | no word
a 1 x\n | 1:0 | 2 finite numbers; got "x"
a 1 2\nb 1\n | 2:0 | 2 finite numbers; got "b"
a 1 2\n5 1\n | 2:0 | no word
a 1 2\n\nb 1 2\n | 2:0 | 2 finite numbers; got ""
a 1 2\n   1 2\n | 2:0 | no word
a 1 2\n b 1 2\n | 2:0 | no word
a 1 nan\n | 1:0 | "nan"
a 1 -inf\n | 1:0 | "-inf"
a 1 1e39\n | 1:0 | "1e39"
a 1 0x10\n | 1:0 | "0x10"
a 1 2\r\r\n | 1:0 | \\x0D
2 2\na 1 2\n | 2:0 | need 2 words, as the first line says; got 1
1 2\na 1 2\nb 1 2\n | 3:0 | need 1 word,
1 2\na 1\n | 2:0 | 2 finite numbers; got "a"
1 0\na\n | 1:0 | got 0
1 18446744073709551615\na 1\n | 1:0 | got 18446744073709551615
1 600000\na 1\n | 1:0 | got 600000
# scan
IN: walk OUT: I_WALK\nwalk OUT: I_WALK\n | 2:0 | need "IN: ", a command, " OUT: " and actions; got
IN: walk I_WALK\n | 1:0 | need "IN: ", a command, " OUT: " and actions; got
IN: OUT: I_WALK\n | 1:5 | need a command; got nothing
IN:   OUT: I_WALK\n | 1:5 | need a command; got nothing
IN: walk OUT: \n | 1:15 | need actions; got nothing
\n | 0:0 | need at least one line; got none
# penn trees
 | 0:0 | need at least one tree; got none
(S (A b)\n | 1:1 | need a closing bracket for this one; got the end of the file
(A b)) | 1:6 | need a bracket to close; got none
\nword | 2:1 | need "(" at the start of a tree; got "word"
(A b c) | 1:6 | need one word or subtrees in a bracket; got also "c"
(A (B c) d) | 1:10 | need one word or subtrees in a bracket; got also "d"
(A b (C d)) | 1:6 | need one word or subtrees in a bracket; got a subtree after a word
() | 1:2 | need a label and a word, or subtrees, in a bracket; got nothing
(A) | 1:3 | need a label and a word, or subtrees, in a bracket; got "A"
((A b) (C d)) | 1:13 | need a label for several subtrees; got none
)T";

/// The text that "\n", "\t", "\r", "\0" and "\\" stand for.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t escape = text[i] == '\\' ? std::string("ntr0\\").find(text[++i]) : 5;
    result += escape < 5 ? "\n\t\r\0\\"[escape] : text[i];
  }
  return result;
}

TEST_F(ReadersTest, NameThePlaceOfAFault) {
  const std::vector<Reader> all = readers();
  const Reader* reader = nullptr;
  for (const auto& row : rows_of(kFaults)) {
    if (row.size() == 1) {
      reader = &*std::ranges::find(all, row[0].substr(2), &Reader::name);
      continue;
    }
    ASSERT_EQ(row.size(), 3u) << row[0];
    SCOPED_TRACE(reader->name + ": " + row[0]);
    write(unescaped(row[0]));
    const std::size_t colon = row[1].find(':');
    expect_file_error([&] { reader->first(path(), {}); }, std::stoul(row[1]),
                      std::stoul(row[1].substr(colon + 1)), unescaped(row[2]));
  }
}

// A file with holes looks large and takes no space: its size is known before it is read.
TEST_F(ReadersTest, RefuseLargeFilesUnread) {
  std::filesystem::resize_file(write("a"), std::uintmax_t{1} << 40);
  for (const Reader& reader : readers()) {
    const std::string message = message_of<FileError>([&] { reader.first(path(), {}); });
    EXPECT_TRUE(message.ends_with(" in the file; got 1099511627776 or more"))
        << reader.name << ": " << message;
  }
}

// The vocabularies' own limits have tests of their own.
TEST_F(ReadersTest, HaveLimitsForLinesAndFiles) {
  for (const Reader& reader : readers()) {
    if (reader.name == "vocabulary" || reader.name == "list") continue;
    SCOPED_TRACE(reader.name);
    std::size_t longest = 0;
    std::istringstream lines(reader.text);
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    write(reader.text);
    EXPECT_NO_THROW(reader.first(path(), {longest, reader.text.size()}));
    const auto message = [&](std::size_t line, std::size_t file) {
      return message_of<FileError>([&] { reader.first(path(), {line, file}); });
    };
    const std::string in_a_line = message(longest - 1, reader.text.size()),
                      in_the_file = message(longest, reader.text.size() - 1);
    EXPECT_TRUE(
        in_a_line.ends_with("need at most " + detail::counted(longest - 1, "byte") + " in a line"))
        << in_a_line;
    EXPECT_NE(in_the_file.find(" in the file; got "), in_the_file.npos) << in_the_file;
  }
}

TEST_F(ReadersTest, TakeLinesOfWindows) {
  for (const Reader& reader : readers()) {
    std::string text;
    for (const char c : reader.text) text += c == '\n' ? "\r\n" : std::string(1, c);
    const std::string plain = reader.first(write(reader.text), {});
    EXPECT_EQ(reader.first(write(text), {}), plain) << reader.name;
  }
}

using ByteOrderMark = FolderTest;

TEST_F(ByteOrderMark, OfUtf8IsNoPartOfTheFirstWord) {
  for (const Reader& reader : readers()) {
    const std::string plain = reader.first(write(reader.text), {});
    EXPECT_EQ(reader.first(write(kMark + reader.text), {}), plain) << reader.name;
  }
}

TEST_F(ByteOrderMark, OfOtherEncodingsIsRefusedByName) {
  const std::vector<std::pair<std::string, std::string>> marks = {
      {std::string("\xFF\xFE\0\0", 4), "UTF-32"},
      {std::string("\0\0\xFE\xFF", 4), "UTF-32"},
      {"\xFF\xFE", "UTF-16"},
      {"\xFE\xFF", "UTF-16"}};
  for (const Reader& reader : readers()) {
    for (const auto& [mark, encoding] : marks) {
      write(mark + reader.text);
      EXPECT_EQ(message_of<FileError>([&] { reader.first(path(), {}); }),
                path() + ": need text in UTF-8; got the byte order mark of " + encoding +
                    ": convert it, such as with iconv -f " + encoding + " -t UTF-8")
          << reader.name;
    }
  }
}

TEST_F(ByteOrderMark, IsTextElsewhere) {
  const auto read = [](const std::string& text) {
    return read_text(TextSource::of(text, "text"), TextUnit::word);
  };
  const Text text = read(kMark + kMark + "a\n" + kMark + "b\n");
  EXPECT_EQ(text.vocabulary.word(0), kMark + "a");
  EXPECT_EQ(text.vocabulary.word(2), kMark + "b");
  EXPECT_TRUE(read(kMark).units.empty());
}

TEST_F(ByteOrderMark, WordsThatBeginWithOneAreWrittenAndReadAgain) {
  for (const std::string& word : {kMark, kMark + "a", std::string("\xFF\xFEz")}) {
    Vocabulary vocabulary;
    vocabulary.add(word);
    EXPECT_EQ(Vocabulary::from_text(vocabulary.to_text(), "text").word(0), word);

    WordVectorWriter writer(path());
    for (int i = 0; i < 2; ++i) writer.write(word, std::vector<float>{1, 2});
    writer.commit();
    WordVectorReader reader(path());
    while (reader.next()) EXPECT_EQ(reader.word(), word);
  }
}

}  // namespace
}  // namespace dynet_like::nn

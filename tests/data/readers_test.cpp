// What all readers of text have in common: limits, files that are not there, byte order marks.
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
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

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

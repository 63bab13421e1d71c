// Byte order marks: the one of UTF-8 is no part of a text, others are refused, in every reader.
#include <gtest/gtest.h>

#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/data/conllu.h"
#include "nn/data/listops.h"
#include "nn/data/tab_separated.h"
#include "nn/data/tagged_sentences.h"
#include "nn/data/text.h"
#include "nn/data/text_pairs.h"
#include "nn/data/treebank.h"
#include "nn/data/vocabulary.h"
#include "nn/data/word_vectors.h"
#include "tests/support/folder_test.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

const std::string kMark = "\xEF\xBB\xBF";

/// A reader, a file that it takes, and the first string of what it makes of it.
struct Reader {
  std::string name, text;
  std::function<std::string(const std::string& path)> first;
};

std::vector<Reader> readers() {
  const auto words = [](const Tree& tree) { return tree.words().front(); };
  return {
      {"text", "a b\n",
       [](auto& path) { return read_text(path, TextUnit::word).vocabulary.word(0); }},
      {"conllu", "1\ta\t_\tX\t_\t_\t0\tr\t_\t_\n",
       [](auto& path) { return read_conllu(path)[0].words[0].form; }},
      {"conllu tags", "# comment\n1\ta\t_\tX\t_\t_\t0\tr\t_\t_\n",
       [](auto& path) { return read_conllu_tags(path)[0].words[0]; }},
      {"columns", "a\tX\n", [](auto& path) { return read_columns(path)[0].words[0]; }},
      {"labels", "a\tsome text\n", [](auto& path) { return read_labelled_texts(path)[0].label; }},
      {"named columns", "label\ttext\na\tsome text\n",
       [](auto& path) {
         return read_labelled_texts(path, {.label = "label", .text = "text"})[0].label;
       }},
      {"parallel text", "a\n", [](auto& path) { return read_parallel_text(path, path)[0].second; }},
      {"scan", "IN: a OUT: b\n", [](auto& path) { return read_scan(path)[0].first; }},
      {"treebank", "(3 (2 a) (4 b))\n", [=](auto& path) { return words(read_treebank(path)[0]); }},
      {"listops", "3\t( ( ( [MAX 2 ) 3 ) ] )\n",
       [=](auto& path) { return words(read_listops(path)[0]); }},
      {"word vectors", "a 1 2\n",
       [](auto& path) {
         WordVectorReader reader(path);
         reader.next();
         return std::string(reader.word());
       }},
      {"vocabulary", "a\t1\n", [](auto& path) { return Vocabulary::load(path).word(0); }},
  };
}

using ByteOrderMark = FolderTest;

TEST_F(ByteOrderMark, OfUtf8IsNoPartOfTheFirstWord) {
  for (const Reader& reader : readers()) {
    const std::string plain = reader.first(write(reader.text));
    EXPECT_EQ(reader.first(write(kMark + reader.text)), plain) << reader.name;
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
      EXPECT_EQ(message_of<FileError>([&] { reader.first(path()); }),
                path() + ": need text in UTF-8; got the byte order mark of " + encoding +
                    ": convert it, such as with iconv -f " + encoding + " -t UTF-8")
          << reader.name;
    }
  }
}

TEST_F(ByteOrderMark, IsTextElsewhere) {
  std::istringstream twice(kMark + kMark + "a\n" + kMark + "b\n"), alone(kMark);
  const Text text = read_text(twice, "text", TextUnit::word);
  EXPECT_EQ(text.vocabulary.word(0), kMark + "a");
  EXPECT_EQ(text.vocabulary.word(2), kMark + "b");
  EXPECT_TRUE(read_text(alone, "text", TextUnit::word).units.empty());
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

// Windows of paragraphs, and sentences of any text, by models that are not trained.
#include "nn/pipeline/text_reader.h"

#include <sstream>

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "nn/pipeline/pipeline.h"
#include "tests/pipeline/support.h"

namespace dynet_like::nn {
namespace {

Vocabulary letters() {
  Vocabulary all;
  all.set_unknown("<unknown>");
  all.add_all(std::vector<std::string>{" ", "a", "I", ".", "\\", "'"});
  return all;
}

struct ReaderTest : testing::Test {
  std::vector<ConlluSentence> read(std::istream& text) const {
    TextReader reader(segmenter, multiwords, text);
    std::vector<ConlluSentence> all;
    for (auto some = reader.next(run_by_predict(1)); !some.empty();
         some = reader.next(run_by_predict(1))) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }
  std::vector<ConlluSentence> read(const std::string& text) const {
    std::istringstream stream(text);
    return read(stream);
  }

  ParameterCollection model{3};
  Segmenter segmenter{model, letters(), {.embedding = 8, .hidden = 8}};
  Multiwords multiwords = Multiwords::from_text("=don't\tdo\tn't\n*'s\t's\n", "table");
};

TEST(TextWindowsTest, FollowFromPlacesInTheParagraph) {
  for (const std::size_t size : {1u, 63u, 64u, 511u, 512u, 513u, 576u, 577u, 1088u, 5000u}) {
    TextWindows windows;
    for (int paragraph = 0; paragraph < 2; ++paragraph) {
      for (std::size_t i = 0; i < size; ++i) windows.add(static_cast<std::uint32_t>(i));
      windows.end_paragraph();
      std::size_t next = 0;
      for (const TextWindow& window : windows.take()) {
        ASSERT_LT(window.begin, window.end);
        EXPECT_EQ(window.characters[window.begin], next);
        EXPECT_EQ(window.begin, next == 0 ? 0 : TextWindows::kContext);
        next += window.end - window.begin;
        EXPECT_EQ(next, std::min(size, (next + 511) / 512 * 512));
        const std::size_t behind = window.characters.size() - window.end;
        EXPECT_EQ(behind, std::min<std::size_t>(TextWindows::kContext, size - next));
      }
      EXPECT_EQ(next, size);
    }
  }
}

TEST_F(ReaderTest, GivesBackEveryByteOfTheText) {
  Random random(1);
  for (int i = 0; i < 60; ++i) {
    const std::string text = random_text(random, 1 + random.below(i < 55 ? 60 : 3000)) + "x";
    const std::vector<ConlluSentence> sentences = read(text);
    EXPECT_EQ(text_of(sentences), text);
    std::istringstream conllu(to_conllu(sentences));
    EXPECT_EQ(read_conllu(conllu, "output"), sentences);
  }
}

TEST_F(ReaderTest, SentencesDoNotDependOnReads) {
  Random random(2);
  const std::string text = random_text(random, 4000);
  const std::vector<ConlluSentence> sentences = read(text);
  for (const std::size_t size : {1, 3, 1000}) {
    SlowStream slow(text, size);
    EXPECT_EQ(read(slow), sentences);
  }
}

TEST_F(ReaderTest, EmptyTextsHaveNoSentences) {
  EXPECT_TRUE(read("").empty());
  EXPECT_TRUE(read(" \n\n\t ").empty());
  EXPECT_EQ(read("a").size(), 1u);
}

TEST_F(ReaderTest, CutsLongTokensAndSentences) {
  for (const std::string& text : {std::string(100'000, 'q'), std::string(5'000, '\xFF')}) {
    const std::vector<ConlluSentence> sentences = read(text);
    EXPECT_EQ(text_of(sentences), text);
    for (const ConlluSentence& sentence : sentences) {
      EXPECT_LE(sentence.words.size(), TextReader::kLongestSentence + 8);
      for (const ConlluColumns& word : sentence.words) EXPECT_LE(word.form.size(), 256u);
    }
  }
}

TEST_F(ReaderTest, ABlankLineEndsASentence) {
  const std::vector<ConlluSentence> sentences = read("a\n \nq q\r\n\r\nI");
  ASSERT_GE(sentences.size(), 3u);
  EXPECT_EQ(sentences[0].comments,
            (std::vector<std::string>{"# newpar", "# sent_id = 1", "# text = a"}));
  EXPECT_EQ(sentences[0].words[0].misc, "SpacesAfter=\\n\\s\\n");
}

}  // namespace
}  // namespace dynet_like::nn

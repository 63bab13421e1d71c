// Scores of tokens, words and sentences: those of the official evaluation of the shared task of
// 2018.
#include "nn/pipeline/segmentation_scores.h"

#include <cmath>
#include <sstream>

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "nn/data/text.h"
#include "nn/pipeline/text_reader.h"
#include "tests/support/message_of.h"

namespace dynet_like::nn {
namespace {

/// Sentences between "|". A word is a token; "do+n't:don't" is a token of two words.
std::vector<ConlluSentence> sentences_of(const std::string& text) {
  std::vector<ConlluSentence> sentences(1);
  for (const std::string& token : split_line(text, TextUnit::word)) {
    if (token == "|") {
      sentences.emplace_back();
      continue;
    }
    ConlluSentence& sentence = sentences.back();
    const auto colon = token.find(':');
    const auto first = static_cast<std::uint32_t>(sentence.words.size()) + 1;
    std::istringstream words(token.substr(0, colon));
    for (std::string word; std::getline(words, word, '+');) {
      sentence.words.push_back(unknown_columns(word));
    }
    if (colon == token.npos) continue;
    const auto last = static_cast<std::uint32_t>(sentence.words.size());
    sentence.multiwords.push_back({first, last, unknown_columns(token.substr(colon + 1))});
  }
  return sentences;
}

std::string text_of(const PrecisionRecall& scores) {
  return std::to_string(scores.right) + " of " + std::to_string(scores.gold) + " by " +
         std::to_string(scores.found);
}

struct Case {
  std::string gold, found, tokens, words, sentences;
};

// What conll18_ud_eval.py counts.
const std::vector<Case> kCases = {
    {"a b | c", "a b | c", "3 of 3 by 3", "3 of 3 by 3", "2 of 2 by 2"},
    {"ab c | d", "a b c | d", "2 of 3 by 4", "2 of 3 by 4", "2 of 2 by 2"},
    {"ab c | d", "ab cd", "1 of 3 by 2", "1 of 3 by 2", "0 of 2 by 1"},
    {"a b | c | d", "a b c | d", "4 of 4 by 4", "4 of 4 by 4", "1 of 3 by 2"},
    {"do+n't:don't go", "do n't go", "1 of 2 by 3", "3 of 3 by 3", "1 of 1 by 1"},
    {"do+n't:don't go", "don't go", "2 of 2 by 2", "1 of 3 by 2", "1 of 1 by 1"},
    {"do+n't:don't go", "Do+N'T:don't go", "2 of 2 by 2", "3 of 3 by 3", "1 of 1 by 1"},
    {"de+le:du vin | a+les:aux", "d u vin | aux", "2 of 3 by 4", "1 of 5 by 4", "2 of 2 by 2"},
    {"x+y+z:xyz w", "y+z:xyz w", "2 of 2 by 2", "3 of 4 by 3", "1 of 1 by 1"},
    {"q a+b:ab c+d:cd r", "qa+b:qab c d r", "1 of 4 by 4", "4 of 6 by 5", "1 of 1 by 1"},
    {"q ab+c:abc d", "q a b+cd:bcd", "1 of 3 by 3", "1 of 4 by 4", "1 of 1 by 1"},
    {"a b c+d:xd e", "ab c+d:xd e", "2 of 4 by 3", "3 of 5 by 4", "1 of 1 by 1"},
    {"p+q:xyz", "p+r+q:xyz", "1 of 1 by 1", "2 of 2 by 3", "1 of 1 by 1"},
    {"p+r+q:xyz", "p+q:xyz", "1 of 1 by 1", "2 of 3 by 2", "1 of 1 by 1"},
    {"ay a+b:ab", "a ya b", "0 of 2 by 3", "1 of 3 by 3", "1 of 1 by 1"},
    {"a ya b", "ay a+b:ab", "0 of 3 by 2", "1 of 3 by 3", "1 of 1 by 1"},
    {"ab cd ef", "a b+c:bc d+e:de f", "0 of 3 by 4", "0 of 3 by 6", "1 of 1 by 1"}};

TEST(SegmentationScoresTest, AreThoseOfTheOfficialEvaluation) {
  for (const auto& [gold, found, tokens, words, sentences] : kCases) {
    const auto scores = segmentation_scores(sentences_of(gold), sentences_of(found));
    EXPECT_EQ(text_of(scores.tokens), tokens) << gold << " and " << found;
    EXPECT_EQ(text_of(scores.words), words) << gold << " and " << found;
    EXPECT_EQ(text_of(scores.sentences), sentences) << gold << " and " << found;
  }
  const auto scores = segmentation_scores(sentences_of("ab c | d"), sentences_of("ab cd"));
  EXPECT_NEAR(scores.mean(), (2 * 1 / 5.0 + 2 * 1 / 5.0 + 0) / 3, 1e-9);
}

TEST(SegmentationScoresTest, SpacesDoNotCount) {
  std::vector<ConlluSentence> gold = sentences_of("ab c"), found = sentences_of("ab c");
  gold[0].words[0].form = "a b";
  found[0].words[0].form = "a\u00A0b";
  EXPECT_EQ(text_of(segmentation_scores(gold, found).words), "2 of 2 by 2");
  gold[0].words[0].form = " ";  // no character at all
  found[0].words[0].form = " ";
  EXPECT_EQ(text_of(segmentation_scores(gold, found).sentences), "1 of 1 by 1");
}

TEST(SegmentationScoresTest, NeedOneText) {
  EXPECT_EQ(message_of<UsageError>(
                [] { segmentation_scores(sentences_of("abc d"), sentences_of("ab xd")); }),
            "[segmentation_scores] need analyses of one text; got \"cd\" beside \"xd\"");
  EXPECT_EQ(segmentation_scores({}, {}).mean(), 0);
}

}  // namespace
}  // namespace dynet_like::nn

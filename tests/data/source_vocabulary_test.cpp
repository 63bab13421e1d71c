// SourceVocabulary: numbers of words that one source has and the vocabulary lacks.
#include "nn/data/source_vocabulary.h"

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {
namespace {

using Words = std::vector<std::string>;

TEST(SourceVocabularyTest, OwnWordsFollowThoseOfTheVocabulary) {
  Vocabulary vocabulary;
  const std::uint32_t unknown = vocabulary.set_unknown("<unk>");
  vocabulary.add_all(Words{"the", "cat"});
  vocabulary.freeze();
  const SourceVocabulary words(vocabulary, Words{"the", "ocelot", "met", "ocelot"});
  EXPECT_EQ(words.source(), (std::vector<std::uint32_t>{1, 3, 4, 3}));
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
  const SourceVocabulary words(vocabulary, Words{"Cat", "Ocelot"});
  EXPECT_EQ(words.source(), (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(words.word(1), "Ocelot");
}

TEST(SourceVocabularyTest, NeedsAnUnknownWordForOthers) {
  Vocabulary vocabulary;
  vocabulary.add("cat");
  const SourceVocabulary words(vocabulary, Words{"ocelot"});
  EXPECT_THROW(words.id("lynx"), UsageError);
  EXPECT_THROW(words.row(1), UsageError);
  EXPECT_THROW(SourceVocabulary(vocabulary, Words{""}), UsageError);
}

}  // namespace
}  // namespace dynet_like::nn

// Multi-word tokens: those of the table, and others with their endings.
#include "nn/pipeline/multiwords.h"

#include <sstream>

#include <gtest/gtest.h>

#include "dynet_like/core/errors.h"
#include "nn/pipeline/text_reader.h"

namespace dynet_like::nn {
namespace {

using Words = std::vector<std::string>;

Multiwords table_of(const std::vector<std::pair<std::string, Words>>& tokens) {
  ConlluSentence sentence;
  for (const auto& [token, words] : tokens) {
    const auto first = static_cast<std::uint32_t>(sentence.words.size()) + 1;
    for (const std::string& word : words) sentence.words.push_back(unknown_columns(word));
    sentence.multiwords.push_back(
        {first, static_cast<std::uint32_t>(sentence.words.size()), unknown_columns(token)});
  }
  return Multiwords(std::vector{sentence});
}

const std::vector<std::pair<std::string, Words>> kTokens = {
    {"don't", {"do", "n't"}},   {"don't", {"do", "n't"}}, {"don't", {"don", "'t"}},
    {"Iran's", {"Iran", "'s"}}, {"du", {"de", "le"}},     {"dámelo", {"da", "me", "lo"}}};

TEST(MultiwordsTest, SplitsTokensOfTheTableAsTheyAreWritten) {
  const Multiwords table = table_of(kTokens);
  EXPECT_EQ(table.split("don't"), (Words{"do", "n't"}));
  EXPECT_EQ(table.split("DON'T"), (Words{"DO", "N'T"}));
  EXPECT_EQ(table.split("Don't"), (Words{"Do", "n't"}));
  EXPECT_EQ(table.split("du"), (Words{"de", "le"}));
  EXPECT_EQ(table.split("Du"), (Words{"De", "le"}));
  EXPECT_EQ(table.split("DU"), (Words{"DE", "LE"}));
  // One letter does not tell whether all are capitals.
  EXPECT_EQ(table_of({{"y", {"de", "ello"}}}).split("Y"), (Words{"De", "ello"}));
}

TEST(MultiwordsTest, SplitsOtherTokensByTheirLongestEnding) {
  const Multiwords table = table_of(kTokens);
  EXPECT_EQ(table.split("Zoé's"), (Words{"Zoé", "'s"}));
  EXPECT_EQ(table.split("CAN'T"), (Words{"CA", "N'T"}));
  EXPECT_EQ(table.split("'s"), (Words{"'s"}));
  EXPECT_EQ(table.split("dog"), (Words{"dog"}));
  EXPECT_EQ(table.split(""), (Words{""}));
  EXPECT_EQ(table.split("\xFF's"), (Words{"\xFF", "'s"}));
  EXPECT_EQ(Multiwords().split("don't"), (Words{"don't"}));
}

TEST(MultiwordsTest, ChoosesTheMostFrequentWordsAndThenTheFirst) {
  const std::pair<std::string, Words> one = {"don't", {"do", "n't"}},
                                      other = {"don't", {"don", "'t"}};
  EXPECT_EQ(table_of({one, other}).split("don't"), one.second);
  EXPECT_EQ(table_of({other, one}).split("don't"), one.second);
  EXPECT_EQ(table_of({other, one, other}).split("don't"), other.second);
}

TEST(MultiwordsTest, AnEndingHasACharacter) {
  EXPECT_EQ(table_of({{"du", {"du", "x"}}}).to_text(), "=du\tdu\tx\n");
  EXPECT_EQ(table_of({{"dus", {"du", "x"}}}).to_text(), "*s\tx\n=dus\tdu\tx\n");
}

TEST(MultiwordsTest, IsTextAndBack) {
  const Multiwords table = table_of(kTokens);
  const Multiwords again = Multiwords::from_text(table.to_text(), "table");
  EXPECT_EQ(again.to_text(), table.to_text());
  EXPECT_EQ(again.split("Zoe's"), (Words{"Zoe", "'s"}));
  for (const std::string bad : {"x\ty\tz\n", "=x\ty\n", "*x\n", "=x\t\ty\n", "\n"}) {
    EXPECT_THROW(Multiwords::from_text(bad, "table"), FileError) << bad;
  }
  EXPECT_EQ(Multiwords::from_text("", "table").split("a"), (Words{"a"}));
}

}  // namespace
}  // namespace dynet_like::nn

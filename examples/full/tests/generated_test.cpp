// Generated data of the examples: they are as described, and depend on the seed alone.
#include "examples/full/support/generated.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include "examples/full/support/word_features.h"
#include "nn/data/bracketed_text.h"
#include "nn/data/dependency_tree.h"

namespace dynet_like::examples {
namespace {

template <class Generate>
void expect_seeded(const Generate& generate) {
  EXPECT_EQ(generate(20, 3).size(), 20u);
  EXPECT_TRUE(generate(20, 3) == generate(20, 3));
  EXPECT_FALSE(generate(20, 3) == generate(20, 4));
}

TEST(GeneratedTest, DependsOnTheSeedAlone) {
  expect_seeded(generated_opinions);
  expect_seeded(generated_molecules);
  expect_seeded(generated_pairs);
  expect_seeded(generated_formulas);
  expect_seeded(generated_trees);
  expect_seeded(generated_marked_words);
}

TEST(GeneratedTest, OpinionsAreSums) {
  std::map<std::string, int> labels;
  for (const auto& [label, text] : generated_opinions(300, 1)) {
    ++labels[label];
    int sum = 0;
    std::string before;
    std::istringstream words(text);
    for (std::string word; words >> word; before = word) {
      const int value = word == "good" ? 1 : word == "bad" ? -1 : 0;
      sum += before == "not" ? -value : value;
    }
    EXPECT_EQ(label, sum > 0 ? "positive" : sum < 0 ? "negative" : "neutral") << text;
  }
  EXPECT_EQ(labels.size(), 3u);
}

TEST(GeneratedTest, AmidesHaveTheirBonds) {
  std::map<std::string, int> labels;
  for (const auto& [label, text] : generated_molecules(300, 1)) {
    ++labels[label];
    std::vector<std::string> atoms;
    std::set<unsigned> with_oxygen, with_nitrogen;
    std::istringstream words(text);
    for (std::string word; words >> word;) {
      if (word.size() == 1) {
        atoms.push_back(word);
        continue;
      }
      std::istringstream bond(word);
      unsigned a = 0, b = 0;
      char kind = 0;
      bond >> a >> kind >> b;
      for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)}) {
        if (kind == '=' && atoms.at(from - 1) == "O") with_oxygen.insert(to);
        if (kind == '-' && atoms.at(from - 1) == "N") with_nitrogen.insert(to);
      }
    }
    bool is_amide = false;
    for (const unsigned atom : with_oxygen) {
      is_amide |= with_nitrogen.contains(atom) && atoms[atom - 1] == "C";
    }
    EXPECT_EQ(label, is_amide ? "amide" : "none") << text;
  }
  EXPECT_GT(labels["amide"], 60);
  EXPECT_GT(labels["none"], 60);
}

TEST(GeneratedTest, PairsAreTreesOfAllLabels) {
  std::map<std::string, int> labels;
  std::set<std::string> all;
  for (const auto& [first, second, label] : generated_pairs(300, 1)) {
    ++labels[label];
    all.insert(first + second);
    for (const std::string& text : {first, second}) {
      EXPECT_GT(nn::parse_bracketed_text(text, "pair").leaf_count(), 2u);
    }
  }
  EXPECT_EQ(all.size(), 300u);
  EXPECT_EQ(labels, (std::map<std::string, int>{
                        {"contradiction", 100}, {"entailment", 100}, {"neutral", 100}}));
}

TEST(GeneratedTest, FormulasHaveTheirValues) {
  for (const nn::ConlluSentence& sentence : generated_formulas(200, 1)) {
    const std::vector<std::uint32_t> heads = sentence.heads();
    ASSERT_TRUE(nn::is_projective(heads));
    ASSERT_GT(heads.size(), 1u);
    for (std::uint32_t i = 1; i <= heads.size(); ++i) {
      std::size_t operands = 0, yes = 0;
      for (std::uint32_t j = 1; j <= heads.size(); ++j) {
        if (heads[j - 1] != i) continue;
        ++operands;
        yes += sentence.words[j - 1].deprel == "true" ? 1 : 0;
      }
      const std::string& form = sentence.words[i - 1].form;
      const bool value = form == "yes"    ? true
                         : form == "no"   ? false
                         : form == "all"  ? yes == operands
                         : form == "any"  ? yes > 0
                         : form == "most" ? 2 * yes > operands
                                          : yes % 2 == 1;
      EXPECT_EQ(sentence.words[i - 1].deprel, value ? "true" : "false");
    }
  }
}

TEST(GeneratedTest, TheWordBehindWithTellsWhatItDependsOn) {
  std::map<std::string, std::set<std::string>> tags_of_heads;
  for (const nn::ConlluSentence& sentence : generated_trees(300, 1)) {
    const std::vector<std::uint32_t> heads = sentence.heads();
    ASSERT_TRUE(nn::is_tree(heads));
    for (std::size_t i = 1; i < heads.size(); ++i) {
      if (sentence.words[i - 1].form != "with") continue;
      tags_of_heads[sentence.words[i].form].insert(sentence.words.at(heads[i] - 1).upos);
    }
  }
  EXPECT_EQ(
      tags_of_heads,
      (std::map<std::string, std::set<std::string>>{
          {"hats", {"NOUN"}}, {"beards", {"NOUN"}}, {"ropes", {"VERB"}}, {"nets", {"VERB"}}}));
}

TEST(GeneratedTest, MarksTellTags) {
  std::size_t longest = 0;
  for (const auto& [words, tags] : generated_marked_words(300, 1)) {
    ASSERT_EQ(words.size(), tags.size());
    std::size_t distance = 0;
    std::string tag;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const bool marks = words[i] == "the" || words[i] == "to";
      if (marks) tag = words[i] == "the" ? "NOUN" : "VERB";
      distance = marks ? 0 : distance + 1;
      longest = std::max(longest, distance);
      EXPECT_EQ(tags[i], words[i] == "the" ? "DET" : words[i] == "to" ? "PART" : tag);
    }
  }
  EXPECT_GT(longest, 8u);
}

TEST(WordFeaturesTest, AreFormShapeAndEnds) {
  EXPECT_EQ(word_features("McDonald-747s"),
            (std::vector<std::string>{"form mcdonald-747s", "shape XxXx-9x", "begin m", "end s",
                                      "begin mc", "end 7s", "begin mcd", "end 47s", "end 747s"}));
  EXPECT_EQ(word_features("a")[8], "end a");
  EXPECT_EQ(sentence_features({"a", "b"}).size(), 4 * kWordFeatures);
  EXPECT_EQ(sentence_features({})[0], "form ");
}

}  // namespace
}  // namespace dynet_like::examples

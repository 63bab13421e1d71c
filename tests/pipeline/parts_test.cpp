// Multi-word tokens, edit scripts, labels of trees, and scores of segmentation.
#include "nn/data/text.h"
#include "nn/pipeline/edit_script.h"
#include "nn/pipeline/joint_parser.h"
#include "nn/pipeline/multiwords.h"
#include "nn/pipeline/pipeline.h"
#include "nn/pipeline/segmentation_scores.h"
#include "nn/pipeline/text_reader.h"
#include "tests/support/message_of.h"
#include "tests/support/precompiled.h"

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

/// Characters of several scripts and cases, and bytes that are no UTF-8.
std::string random_word(Random& random, unsigned longest) {
  static const std::vector<std::string> characters = [] {
    std::vector<std::string> all = split_line("a b A B ü Ü ß б Б İ ı ǅ Σ ς - = 0 , 你 😀 \xFF");
    all.insert(all.end(), {" ", "\xC3", "\x80", "\xE4\xBD", std::string(1, '\0')});
    return all;
  }();
  std::string word;
  for (unsigned left = random.below(longest + 1); left > 0; --left) {
    word += characters[random.below(static_cast<unsigned>(characters.size()))];
  }
  return word;
}

TEST(EditScriptTest, IsExactOnItsOwnPair) {
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::string word = random_word(random, 8), lemma = random_word(random, 8);
    if (lemma.empty()) continue;
    const std::string script = edit_script(word, lemma);
    EXPECT_EQ(apply_edit_script(script, word), lemma) << script;
  }
}

TEST(EditScriptTest, IsSafeOnOtherWords) {
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    const std::string word = random_word(random, 6);
    const std::string script = i % 2 == 0
                                   ? edit_script(random_word(random, 9), random_word(random, 9))
                                   : random_word(random, 9);
    EXPECT_FALSE(apply_edit_script(script, word + 'a').empty()) << script;
  }
  for (const std::string script : {"", "small", "small 9 0 0 ", "small 0 1 99 x", "small 3 0 0 ",
                                   "0,x 0 0 0 ", "small 18446744073709551615 1 0 "}) {
    EXPECT_EQ(apply_edit_script(script, "cat"), "cat") << script;
  }
}

TEST(EditScriptTest, CutsOffTheLaterOfTwoEqualParts) {
  EXPECT_EQ(edit_script("abcab", "ab"), "small 0 3 0 ");
  EXPECT_EQ(edit_script("abcabd", "abd"), "small 3 0 0 ");
}

TEST(EditScriptTest, MayCutOffTheWholeWord) {
  for (const std::string script : {"small 2 0 1 xyz", "small 1 1 1 xyz", "small 0 2 1 xyz"}) {
    EXPECT_EQ(apply_edit_script(script, "ab"), "xyz") << script;
  }
  for (const std::string script : {"small 3 0 1 xyz", "small 1 2 1 xyz", "small 0 3 1 xyz"}) {
    EXPECT_EQ(apply_edit_script(script, "ab"), "ab") << script;
  }
}

TEST(EditScriptTest, AlikeWordsShareIt) {
  const auto alike = [](const char* a, const char* of_a, const char* b, const char* of_b) {
    return edit_script(a, of_a) == edit_script(b, of_b);
  };
  EXPECT_TRUE(alike("walking", "walk", "Asking", "ask"));
  EXPECT_TRUE(alike("geschaut", "schauen", "gebaut", "bauen"));
  EXPECT_TRUE(alike("Zoe", "Zoe", "ÉMILE", "Émile"));
  EXPECT_TRUE(alike("usa", "USA", "nato", "NATO"));
  EXPECT_FALSE(alike("running", "run", "walking", "walk"));
  EXPECT_EQ(apply_edit_script(edit_script("MCDONALDS", "McDonald"), "MCARTHURS"), "McArthur");
  EXPECT_EQ(apply_edit_script(edit_script("went", "go"), "left"), "go");
}

/// An encoder that gives every word a vector of its own, whatever it is.
SentenceEncoder random_vectors(const Parameter& vectors) {
  return {8, [vectors](ComputationGraph& graph, std::span<const std::string> words) {
            const Expression all = parameter(graph, vectors);
            return pick_range(all, 0, static_cast<unsigned>(words.size()), 1);
          }};
}

JointParserVocabularies vocabularies(const std::vector<std::string>& labels) {
  JointParserVocabularies v;
  for (Vocabulary* some : {&v.upos, &v.xpos, &v.feats}) some->add("_");
  v.lemmas.set_unknown("<word>");
  for (const std::string& label : labels) v.labels.add(label);
  return v;
}

/// Labels of 20 sentences by parsers that are not trained, and how many words there are.
std::vector<ConlluColumns> annotated(const std::vector<std::string>& labels) {
  std::vector<ConlluColumns> words;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    ParameterCollection model(seed);
    const Parameter vectors = model.add_parameters({8, 6}, ParameterInitUniform(-3, 3));
    const JointParser parser(model, random_vectors(vectors), vocabularies(labels),
                             {.tags = 4, .arcs = 8, .labels = 8});
    ConlluSentence sentence;
    sentence.words.assign(6, unknown_columns("a"));
    parser.annotate({&sentence, 1}, run_by_predict(1));
    words.insert(words.end(), sentence.words.begin(), sentence.words.end());
  }
  return words;
}

TEST(JointParserTest, ARareScriptIsThatOfTheWordItself) {
  ConlluSentence sentence;
  for (const auto& [form, lemma] : std::vector<std::pair<std::string, std::string>>{
           {"dogs", "dog"}, {"cats", "cat"}, {"went", "go"}, {"a", "a"}}) {
    sentence.words.push_back(unknown_columns(form));
    sentence.words.back().lemma = lemma;
  }
  const auto v = JointParserVocabularies::of({&sentence, 1});
  EXPECT_EQ(v.lemmas.size(), 2u);
  EXPECT_EQ(v.lemmas.word(*v.lemmas.unknown()), "<word>");
  EXPECT_EQ(v.lemmas.count(*v.lemmas.unknown()), 2u);
}

TEST(JointParserTest, OnlyTheWordBelowTheRootHasTheLabelRoot) {
  for (const std::vector<std::string>& labels :
       std::vector<std::vector<std::string>>{{"root", "dep"}, {"obj", "root"}}) {
    unsigned roots = 0;
    for (const ConlluColumns& word : annotated(labels)) {
      EXPECT_EQ(word.deprel == "root", word.head == 0);
      roots += word.head == 0 ? 1 : 0;
    }
    EXPECT_EQ(roots, 20u);
  }
}

TEST(JointParserTest, WithoutALabelRootAnyLabelIsAllowed) {
  std::size_t with_first = 0, all = 0;
  for (const ConlluColumns& word : annotated({"a", "b"})) {
    with_first += word.deprel == "a" ? 1 : 0;
    ++all;
  }
  EXPECT_GT(with_first, all / 10);
  EXPECT_LT(with_first, all - all / 10);
}

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

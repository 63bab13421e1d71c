// The generators.
#include "examples/full/support/generated.h"

#include <array>
#include <bitset>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "dynet_like/core/random.h"

namespace dynet_like::examples {

std::vector<nn::LabelledText> generated_opinions(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::LabelledText> samples(count);
  for (auto& [label, text] : samples) {
    int sum = 0, sign = 1;
    for (std::uint64_t left = 3 + random.below(12); left > 0; --left) {
      const auto kind = random.below(6);
      if (!text.empty()) text += ' ';
      text += kind == 0   ? "good"
              : kind == 1 ? "bad"
              : kind == 2 ? "not"
                          : "word" + std::to_string(random.below(100));
      sum += kind == 0 ? sign : kind == 1 ? -sign : 0;
      sign = kind == 2 ? -1 : 1;
    }
    label = sum > 0 ? "positive" : sum < 0 ? "negative" : "neutral";
  }
  return samples;
}

std::vector<nn::LabelledText> generated_molecules(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::LabelledText> samples(count);
  for (auto& [label, text] : samples) {
    const auto size = 1 + random.below(24);
    std::string bonds, atoms;
    for (std::uint64_t i = 0; i < size; ++i) atoms += "CCNO"[random.below(4)];
    std::vector<bool> has_oxygen(size), has_nitrogen(size);
    const auto bind = [&](std::uint64_t a, std::uint64_t b) {
      const bool is_double = random.below(2) == 0;
      bonds += fmt::format(" {}{}{}", a + 1, is_double ? '=' : '-', b + 1);
      for (const auto& [to, other] : {std::pair(a, b), std::pair(b, a)}) {
        if (is_double && atoms[other] == 'O') has_oxygen[to] = true;
        if (!is_double && atoms[other] == 'N') has_nitrogen[to] = true;
      }
    };
    for (std::uint64_t i = 1; i < size; ++i) bind(i, random.below(i));
    if (size > 4 && random.below(2) == 0) bind(0, size - 1);
    bool is_amide = false;
    for (std::uint64_t i = 0; i < size; ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : " ", atoms[i]);
      is_amide |= atoms[i] == 'C' && has_oxygen[i] && has_nitrogen[i];
    }
    text += bonds;
    label = is_amide ? "amide" : "none";
  }
  return samples;
}

namespace {

constexpr unsigned kKinds = 8, kWorlds = 1u << kKinds;

/// A text, and the kinds of individuals for which it is true, as bits.
struct Phrase {
  std::string text;
  unsigned kinds = 0;
};

Phrase random_phrase(Random& random, unsigned depth) {
  static const std::array<Phrase, 3> words = {{{"dogs", 0xaa}, {"big", 0xcc}, {"old", 0xf0}}};
  if (depth == 0 || random.below(2) == 0) return words[random.below(words.size())];
  const Phrase a = random_phrase(random, depth - 1);
  if (random.below(2) == 0) return {"( not " + a.text + " )", ~a.kinds & (kWorlds - 1)};
  const Phrase b = random_phrase(random, depth - 1);
  if (random.below(2) == 0) return {"( " + a.text + " ( or " + b.text + " ) )", a.kinds | b.kinds};
  return {"( " + a.text + " ( and " + b.text + " ) )", a.kinds & b.kinds};
}

struct Sentence {
  std::string text;
  std::bitset<kWorlds> worlds;  ///< in which the sentence is true

  explicit Sentence(Random& random) {
    do {
      const Phrase subject = random_phrase(random, 2), predicate = random_phrase(random, 2);
      const auto quantifier = random.below(3);
      const char* const word = quantifier == 0 ? "all" : quantifier == 1 ? "some" : "no";
      text = std::string("( ( ") + word + ' ' + subject.text + " ) " + predicate.text + " )";
      for (unsigned world = 0; world < kWorlds; ++world) {
        const unsigned both = world & subject.kinds & predicate.kinds;
        const unsigned others = world & subject.kinds & ~predicate.kinds;
        worlds[world] = quantifier == 0 ? others == 0 : quantifier == 1 ? both != 0 : both == 0;
      }
    } while (worlds.all() || worlds.none());  // always or never true says nothing
  }
};

}  // namespace

std::vector<nn::TextPair> generated_pairs(std::size_t count, std::uint64_t seed) {
  const std::array<std::string, 3> labels = {"entailment", "contradiction", "neutral"};
  Random random(seed);
  std::set<std::string> made;
  std::vector<nn::TextPair> pairs;
  while (pairs.size() < count) {
    const Sentence a(random), b(random);
    const std::string& label = (a.worlds & ~b.worlds).none()  ? labels[0]
                               : (a.worlds & b.worlds).none() ? labels[1]
                                                              : labels[2];
    if (label != labels[pairs.size() % 3]) continue;
    if (made.insert(a.text + '\t' + b.text).second) pairs.push_back({a.text, b.text, label});
  }
  return pairs;
}

namespace {

/// Adds a formula below `head`, and returns its value. Operators have one to four operands.
bool add_formula(unsigned deepest, std::int32_t head, Random& random,
                 nn::ConlluSentence& sentence) {
  const std::size_t place = sentence.words.size();
  sentence.words.push_back({"", "_", "_", "_", "_", head, "", "_", "_"});
  std::string form;
  bool value = random.below(2) == 1;
  if (deepest == 0 || random.below(3) == 0) {
    form = value ? "yes" : "no";
  } else {
    const unsigned operands = 1 + random.below(4);
    unsigned yes = 0;
    for (unsigned i = 0; i < operands; ++i)
      yes += add_formula(deepest - 1, static_cast<std::int32_t>(place + 1), random, sentence);
    const unsigned which = random.below(4);
    form = std::array{"all", "any", "most", "odd"}[which];
    value = std::array{yes == operands, yes > 0, 2 * yes > operands, yes % 2 == 1}[which];
  }
  sentence.words[place].form = form;
  sentence.words[place].deprel = value ? "true" : "false";
  return value;
}

}  // namespace

std::vector<nn::ConlluSentence> generated_formulas(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::ConlluSentence> sentences(count);
  for (nn::ConlluSentence& sentence : sentences) {
    do {
      sentence = {};
      add_formula(4, 0, random, sentence);
    } while (sentence.words.size() == 1);
  }
  return sentences;
}

namespace {

/// The possible parts of a phrase: RELATION/PHRASE or RELATION/WORD_TAG; "*" marks the head.
const std::map<std::string, std::vector<std::string>> kGrammar = {
    {"S", {"nsubj/NP */VP punct/._PUNCT"}},
    {"VP", {"*/VERB obj/NP", "*/VERB obj/NP obl/TOOL"}},
    {"NP",
     {"det/DET */NOUN", "det/DET amod/ADJ */NOUN", "det/DET */NOUN nmod/PART",
      "det/DET */NOUN nmod/OF", "det/DET */NOUN acl:relcl/THAT"}},
    {"OF", {"case/of_ADP */NP"}},
    {"THAT", {"nsubj/that_PRON */VP punct/,_PUNCT"}},
    {"PART", {"case/with_ADP */hats_NOUN", "case/with_ADP */beards_NOUN"}},
    {"TOOL", {"case/with_ADP */ropes_NOUN", "case/with_ADP */nets_NOUN"}},
    {"DET", {"*/the_DET", "*/a_DET"}},
    {"ADJ", {"*/old_ADJ", "*/big_ADJ", "*/red_ADJ"}},
    {"NOUN", {"*/dog_NOUN", "*/cat_NOUN", "*/girl_NOUN", "*/king_NOUN"}},
    {"VERB", {"*/sees_VERB", "*/hits_VERB", "*/wants_VERB"}}};

/// Adds a phrase or a word to the sentence, and returns the number of its head.
std::size_t add(const std::string& phrase, const std::string& relation, Random& random,
                nn::ConlluSentence& sentence) {
  if (const std::size_t end = phrase.find('_'); end != phrase.npos) {
    sentence.words.push_back(
        {phrase.substr(0, end), "_", phrase.substr(end + 1), "_", "_", 0, relation, "_", "_"});
    return sentence.words.size();
  }
  const std::vector<std::string>& choices = kGrammar.at(phrase);
  std::istringstream parts(choices[random.below(static_cast<std::uint32_t>(choices.size()))]);
  std::size_t head = 0;
  std::vector<std::size_t> dependants;
  for (std::string own, part; std::getline(parts >> std::ws, own, '/') && parts >> part;) {
    const std::size_t word = add(part, own == "*" ? relation : own, random, sentence);
    if (own == "*") head = word;
    if (own != "*") dependants.push_back(word);
  }
  for (const std::size_t word : dependants)
    sentence.words[word - 1].head = static_cast<std::int32_t>(head);
  return head;
}

}  // namespace

std::vector<nn::ConlluSentence> generated_trees(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::ConlluSentence> sentences(count);
  for (nn::ConlluSentence& sentence : sentences) add("S", "root", random, sentence);
  return sentences;
}

std::vector<nn::TaggedSentence> generated_marked_words(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<nn::TaggedSentence> sentences(count);
  for (auto& [words, tags] : sentences) {
    bool noun = true;
    for (std::uint64_t left = 4 + random.below(16), i = 0; i < left; ++i) {
      const bool marks = i == 0 || random.below(5) == 0;
      if (marks) noun = random.below(2) == 0;
      words.push_back(marks ? noun ? "the" : "to" : "word" + std::to_string(random.below(50)));
      tags.push_back(marks ? noun ? "DET" : "PART" : noun ? "NOUN" : "VERB");
    }
  }
  return sentences;
}

}  // namespace dynet_like::examples

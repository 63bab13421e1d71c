// Sentences of a toy grammar, drawn from a table of rules.
#include "examples/full/support/generated.h"

#include <map>
#include <sstream>
#include <string>

#include "dynet_like/core/random.h"

namespace dynet_like::examples {

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

}  // namespace dynet_like::examples

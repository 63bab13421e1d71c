// Formulas of truth values.
#include "examples/full/support/generated.h"

#include <array>
#include <string>

#include "dynet_like/core/random.h"

namespace dynet_like::examples {

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

}  // namespace dynet_like::examples

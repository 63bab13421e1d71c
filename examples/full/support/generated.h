// Data that the examples generate, so that each can be tried without files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "nn/data/conllu.h"
#include "nn/data/tab_separated.h"
#include "nn/data/tagged_sentences.h"
#include "nn/data/text_pairs.h"

namespace dynet_like::examples {

// All of these depend on count and seed alone.

/// Texts such as "word3 not good word8 bad", labelled "positive", "negative" or "neutral": good
/// words count 1, bad ones -1, and a word after "not" counts the opposite.
std::vector<nn::LabelledText> generated_opinions(std::size_t count, std::uint64_t seed);

/// Molecules of 1 to 24 atoms, such as "C O N 1=2 1-3", atoms and then their bonds. The label is
/// "amide" if a carbon with a double bond to an oxygen has a single bond to a nitrogen, otherwise
/// "none". Atoms have any number of bonds.
std::vector<nn::LabelledText> generated_molecules(std::size_t count, std::uint64_t seed);

/// Pairs of sentences such as "( ( all dogs ) ( ( not big ) ( or old ) ) )", all different, with
/// equally many of each label: the first is an "entailment" of the second, a "contradiction", or
/// "neutral".
///
/// The label is computed from the worlds in which each sentence is true. A world has individuals of
/// some kinds, and a kind is a choice of the properties "dogs", "big" and "old". A sentence entails
/// another if that is true in all worlds in which it is true itself, and contradicts it if that is
/// true in none of them.
std::vector<nn::TextPair> generated_pairs(std::size_t count, std::uint64_t seed);

/// Formulas such as "odd (all yes no) yes" as dependency trees, without brackets: operands depend
/// on their operator, and the label of a word is its value, "true" or "false".
std::vector<nn::ConlluSentence> generated_formulas(std::size_t count, std::uint64_t seed);

/// Sentences of a toy grammar with their dependency trees. Only the word after "with" tells the
/// head of the phrase: "with ropes" depends on the verb, "with hats" on the noun before it.
std::vector<nn::ConlluSentence> generated_trees(std::size_t count, std::uint64_t seed);

/// Sentences whose words are "NOUN" after "the" and "VERB" after "to", however many words are in
/// between.
std::vector<nn::TaggedSentence> generated_marked_words(std::size_t count, std::uint64_t seed);

}  // namespace dynet_like::examples

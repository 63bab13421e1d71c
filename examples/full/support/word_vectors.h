// Pretrained word vectors: the options --vectors, --vectors-rate, --more-words,
// --lower-case and --digits.
#pragma once

#include "examples/full/support/options.h"
#include "nn/data/vocabulary.h"
#include "nn/embedding.h"

namespace dynet_like::examples {

/// For a program with a table of words. With --vectors, the default of --embedding is their size.
void add_vector_options(OptionTable& table);

/// The normalisation that --lower-case and --digits ask for, for a vocabulary.
nn::WordNormalisation normalisation_of(const Options& options);

/// The words that occur --min-count times (once, if there is no such option), and words of
/// --vectors, as many as --more-words says. Throws FileError.
nn::Vocabulary known_words(const nn::Vocabulary& counted, const Options& options);
/// The same of the words of all samples, normalised, with an unknown one. See nn::vocabulary_of().
template <class Samples, class WordsOf>
nn::Vocabulary known_words(const Samples& samples, const WordsOf& words_of,
                           const Options& options) {
  nn::Vocabulary words(normalisation_of(options));
  words.set_unknown("<unknown>");
  for (const auto& sample : samples) words.add_all(std::invoke(words_of, sample));
  return known_words(words, options);
}

/// If --vectors is given, writes its vectors into the rows of their words, prints how many words
/// have one, and makes --vectors-rate the trainer's rate for the table. Throws FileError.
void load_vectors(const Options& options, const nn::Vocabulary& words, const nn::Embedding& table,
                  Trainer& trainer);

}  // namespace dynet_like::examples

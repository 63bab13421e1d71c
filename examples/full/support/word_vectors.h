// Vectors of words from elsewhere: the options --vectors, --more-words, --lower-case and --digits.
#pragma once

#include "examples/full/support/options.h"
#include "nn/data/vocabulary.h"
#include "nn/embedding.h"

namespace dynet_like::examples {

// For a program's table. With --vectors and without --embedding, this is the size of the vectors.
inline const Option kVectors = {
    "vectors", "FILE", "", "",
    "initial word vectors, as text of word2vec, GloVe or fastText; they set --embedding"};
inline const Option kMoreWords = {
    "more-words", "N", "100000", "100000", "also know the first N words that only --vectors has",
    {0, 1e8}};
inline const Option kLowerCase = {"lower-case", "", "", "", "treat capitals like small letters"};
inline const Option kDigits = {"digits", "", "", "", "treat all digits alike"};

/// What --lower-case and --digits say, for a vocabulary of words.
nn::WordNormalisation normalisation_of(const Options& options);

/// The words that come --min-count times (once, if there is no such option) and those of --vectors,
/// as many as --more-words says. Throws FileError.
nn::Vocabulary known_words(const nn::Vocabulary& counted, const Options& options);

/// Writes the vectors of --vectors, if it is given, into the rows of their words, and prints how
/// many have one. Throws FileError.
void load_vectors(const Options& options, const nn::Vocabulary& words, const nn::Embedding& table);

}  // namespace dynet_like::examples

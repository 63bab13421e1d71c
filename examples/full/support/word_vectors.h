// Pretrained word vectors: the options --vectors, --vectors-rate, --more-words,
// --lower-case and --digits.
#pragma once

#include "examples/full/support/options.h"
#include "nn/data/vocabulary.h"
#include "nn/embedding.h"

namespace dynet_like::examples {

// For a program's table of words. With --vectors, the default of --embedding is their size.
inline const Option kVectors = {
    "vectors", "FILE", "", "",
    "initial word vectors: an .npz file, or text of word2vec or GloVe; --embedding is their size"};
inline const Option kVectorsRate = {
    "vectors-rate",
    "X",
    "1",
    "1",
    "learning rate of --vectors, as a factor; 0 keeps them unchanged",
    {0, 100}};
inline const Option kMoreWords = {
    "more-words", "N", "100000", "100000", "also know the first N words that only --vectors has",
    {0, 1e8}};
inline const Option kLowerCase = {"lower-case", "", "", "", "treat capitals as small letters"};
inline const Option kDigits = {"digits", "", "", "", "treat all digits alike"};

/// The normalisation that --lower-case and --digits ask for, for a vocabulary.
nn::WordNormalisation normalisation_of(const Options& options);

/// The words that occur --min-count times (once, if there is no such option), and words of
/// --vectors, as many as --more-words says. Throws FileError.
nn::Vocabulary known_words(const nn::Vocabulary& counted, const Options& options);

/// If --vectors is given, writes its vectors into the rows of their words, prints how many words
/// have one, and makes --vectors-rate the trainer's rate for the table. Throws FileError.
void load_vectors(const Options& options, const nn::Vocabulary& words, const nn::Embedding& table,
                  Trainer& trainer);

}  // namespace dynet_like::examples

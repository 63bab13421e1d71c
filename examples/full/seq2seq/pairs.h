// Data of the seq2seq example: pairs of word sequences from files, or generated ones.
#pragma once

#include <vector>

#include "examples/full/support/options.h"
#include "nn/data/splits.h"
#include "nn/data/text_pairs.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::examples {

/// Loads the files of --train, --dev and --test (files named *.txt are SCAN's), or generates
/// commands. Without --dev, a twentieth of the training pairs becomes dev. Throws UsageError for
/// options that do not go together, and FileError for files that cannot be used.
nn::Splits<nn::TextPair> load_pairs(const Options& options);

/// Numbers of the words of the training pairs. Rare words of the first sentences are unknown.
struct Vocabularies {
  static constexpr std::uint32_t kEnd = 0;  ///< begins and ends a second sentence

  Vocabularies(const std::vector<nn::TextPair>& pairs, unsigned min_count);
  explicit Vocabularies(const nn::SavedModel& model);

  nn::Vocabulary source, target;
};

}  // namespace dynet_like::examples

// What the seq2seq example learns: pairs of word sequences from files, or generated ones.
#pragma once

#include <vector>

#include "examples/full/support/options.h"
#include "nn/data/text_pairs.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::examples {

struct PairSplits {
  std::vector<nn::TextPair> train, dev, test;
};

/// The files of --train, --dev and --test, SCAN's where they are named *.txt, or generated
/// commands. Without --dev, a twentieth of the training pairs is taken for it. Throws UsageError
/// for options that do not go together, and FileError for files of no use.
PairSplits load_pairs(const Options& options);

/// Numbers for the words of the training pairs. What is rare in the first sentences is unknown.
struct Vocabularies {
  static constexpr std::uint32_t kEnd = 0;  ///< of a second sentence, which it also begins

  Vocabularies(const std::vector<nn::TextPair>& pairs, unsigned min_count);
  explicit Vocabularies(const nn::SavedModel& model);

  nn::Vocabulary source, target;
};

}  // namespace dynet_like::examples

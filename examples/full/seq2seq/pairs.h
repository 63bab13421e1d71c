// Data of the seq2seq example: pairs of word sequences from files, or generated ones.
#pragma once

#include <vector>

#include "dynet_like/core/random.h"
#include "examples/full/support/options.h"
#include "nn/data/splits.h"
#include "nn/data/text_pairs.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::examples {

/// The number of all commands.
constexpr std::size_t kCommands = 20910;
/// `count` different commands as in SCAN (Lake and Baroni 2018), drawn at random, with the actions
/// that they stand for: "turn left after jump twice" and "JUMP JUMP LEFT". Throws UsageError if
/// there are not so many.
std::vector<nn::TextPair> draw_commands(std::size_t count, Random& random);

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

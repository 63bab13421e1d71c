// Sentences as numbers: of words, of characters and of labels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "examples/support/saved_model.h"
#include "nn/data/tagged_sentences.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::examples {

/// A sentence as the network reads it.
struct EncodedSentence {
  std::vector<std::uint32_t> words;
  std::vector<std::vector<std::uint32_t>> characters;  ///< of every word
};

/// The characters of a text in UTF-8; bytes that belong to none are characters too.
std::vector<std::string_view> utf8_characters(std::string_view text);

/// Numbers for all that the training sentences contain: words in lower case, characters and labels.
/// Rare words, and what is new later on, have the number of the unknown word or character.
class Encoding {
 public:
  Encoding(const std::vector<nn::TaggedSentence>& sentences, std::uint64_t min_count);
  /// Those of a model. Throws FileError.
  explicit Encoding(const SavedModel& model);
  /// For its file.
  Metadata vocabularies() const;

  /// Of a word that is very long, the characters in the middle are left out.
  EncodedSentence encode(std::span<const std::string> words) const;
  /// Throws UsageError for a label that was not there in training.
  std::vector<unsigned> encode_labels(std::span<const std::string> labels) const;

  /// What is added to the scores of labels if that of "O" is lowered; none if nothing is.
  std::vector<float> label_bias(float outside_bias) const;

  const nn::Vocabulary& words() const { return words_; }
  const nn::Vocabulary& characters() const { return characters_; }
  const nn::Vocabulary& labels() const { return labels_; }

 private:
  nn::Vocabulary words_, characters_, labels_;
};

}  // namespace dynet_like::examples

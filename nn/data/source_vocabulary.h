// SourceVocabulary: a vocabulary, and the words of one source that it lacks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/data/vocabulary.h"

namespace dynet_like::nn {

/// Numbers the words of one sample for CopyOutput: words of the vocabulary have their ids; those
/// of the source that it lacks have the numbers size(), size() + 1, ... in the order in which they
/// first occur (See et al. 2017). The vocabulary must outlive it.
class SourceVocabulary {
 public:
  /// Throws UsageError for an empty word.
  SourceVocabulary(const Vocabulary& vocabulary, std::span<const std::string> source);

  /// The numbers of the source's words.
  const std::vector<std::uint32_t>& source() const { return source_; }
  /// The number of a target's word; of the unknown word if neither has it. Throws UsageError if
  /// there is no unknown word.
  std::uint32_t id(std::string_view word) const;
  /// The word with this number. Throws UsageError if there is none.
  const std::string& word(std::uint32_t number) const;
  /// The number as a row of an embedding: that of the unknown word for the source's own words.
  /// Throws UsageError if there is no unknown word.
  std::uint32_t row(std::uint32_t number) const;
  /// The number of all words: the vocabulary's, and the source's own.
  std::uint32_t size() const { return vocabulary_->size() + own_.size(); }

 private:
  std::uint32_t unknown() const;

  const Vocabulary* vocabulary_;
  Vocabulary own_;
  std::vector<std::uint32_t> source_;
};

}  // namespace dynet_like::nn

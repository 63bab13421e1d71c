// SourceVocabulary: a second vocabulary, whose numbers follow those of the first.
#include "nn/data/source_vocabulary.h"

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

SourceVocabulary::SourceVocabulary(const Vocabulary& vocabulary,
                                   std::span<const std::string> source)
    : vocabulary_(&vocabulary) {
  for (const std::string& word : source) {
    const auto known = vocabulary.find(word);
    source_.push_back(known ? *known : vocabulary.size() + own_.add(word));
  }
}

std::uint32_t SourceVocabulary::id(std::string_view word) const {
  if (const auto known = vocabulary_->find(word)) return *known;
  const auto own = own_.find(word);
  return own ? vocabulary_->size() + *own : unknown();
}

const std::string& SourceVocabulary::word(std::uint32_t number) const {
  const std::uint32_t known = vocabulary_->size();
  return number < known ? vocabulary_->word(number) : own_.word(number - known);
}

std::uint32_t SourceVocabulary::row(std::uint32_t number) const {
  return number < vocabulary_->size() ? number : unknown();
}

std::uint32_t SourceVocabulary::unknown() const {
  if (const auto unknown = vocabulary_->unknown()) return *unknown;
  throw UsageError("[SourceVocabulary] need a vocabulary with an unknown word; got none");
}

}  // namespace dynet_like::nn

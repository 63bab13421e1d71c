// How a text is split into words, by the names of tokenizer.json.
#pragma once

#include <cstdint>

#include "nn/text/splits.h"

namespace dynet_like::nn::text {

/// White space separates words; each sign of punctuation is a word.
void bert_pre_tokenizer(Splits& splits);

struct ByteLevelOptions {
  bool add_prefix_space = true;  ///< a space in front of each part that does not begin with one
  bool use_regex = true;         ///< splits as GPT-2 does: a space belongs to the word behind it
};
/// Makes bytes visible: see byte_level.
PreTokenizer byte_level(const ByteLevelOptions& options);

enum class PrependScheme { always, first, never };
struct MetaspaceOptions {
  char32_t replacement = U'▁';  ///< of spaces
  PrependScheme prepend_scheme = PrependScheme::always;
  bool split = true;  ///< in front of each replacement
};
PreTokenizer metaspace(const MetaspaceOptions& options);

/// So many characters in each part but the last.
PreTokenizer fixed_length(std::uint64_t characters);

/// The matches of `\w+|[^\w\s]+`.
Pattern words_and_signs();

}  // namespace dynet_like::nn::text

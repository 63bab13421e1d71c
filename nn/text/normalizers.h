// Changes of a text before it is split, by the names of tokenizer.json.
#pragma once

#include <string>

#include "nn/text/aligned_text.h"
#include "nn/text/splits.h"

namespace dynet_like::nn::text {

struct BertNormalizerOptions {
  bool clean_text = true;            ///< drops control characters, and makes all white space " "
  bool handle_chinese_chars = true;  ///< puts spaces around ideographs
  bool strip_accents = true;
  bool lowercase = true;
};
Normalizer bert_normalizer(const BertNormalizerOptions& options);

void lower_case(AlignedText& aligned);
/// Drops marks; letters and marks must be apart already.
void strip_accents(AlignedText& aligned);
/// White space and control characters as in the neural translation of SentencePiece.
void nmt(AlignedText& aligned);
/// Bytes as characters that can be seen: 256 characters, printable ASCII among them.
void byte_level(AlignedText& aligned);

/// Drops white space at the ends.
Normalizer strip(bool left, bool right);
/// Puts a string in front of a text that is not empty.
Normalizer prepend(std::string string);
Normalizer replace_matches(Pattern pattern, std::string content);

/// The character that stands for a byte.
char32_t byte_character(unsigned char byte);

}  // namespace dynet_like::nn::text

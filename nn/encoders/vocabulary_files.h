// Tokenizers in the files from before tokenizer.json.
#pragma once

#include <string>

#include "nn/encoders/tokenizer_settings.h"

namespace dynet_like::nn::encoders {

/// A tokenizer.json for a folder without one: from vocab.txt for BERT's classes, from vocab.json
/// and merges.txt for RoBERTa's, without the settings. Throws FileError if these are missing or
/// malformed.
std::string tokenizer_of_vocabulary(const std::string& folder, const TokenizerSettings& settings);

}  // namespace dynet_like::nn::encoders

// The tokenizer of a folder, as one tokenizer.json.
#pragma once

#include <string>

namespace dynet_like::nn {

/// The contents of a tokenizer.json with all that the files of a folder say of the tokenizer:
/// Tokenizer::from_text reads it. They are its tokenizer.json or, if there is none, vocab.txt, as
/// BERT has it, or vocab.json and merges.txt, as RoBERTa has them; with the settings in
/// tokenizer_config.json, special_tokens_map.json and added_tokens.json, which Hugging Face's
/// transformers applies over them. If none of these three is there, tokenizer.json is returned as
/// it is. Throws FileError for files that are missing or malformed, and for settings that are not
/// supported.
std::string tokenizer_of_folder(const std::string& folder);

}  // namespace dynet_like::nn

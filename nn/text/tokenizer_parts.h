// The parts of a tokenizer, and the function that reads them from a file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "nn/text/added_tokens.h"
#include "nn/text/aligned_text.h"
#include "nn/text/decoders.h"
#include "nn/text/models.h"
#include "nn/text/post_processor.h"
#include "nn/text/splits.h"

namespace dynet_like::nn::text {

/// A text goes through them in this order, and pieces through the decoder.
struct TokenizerParts {
  AddedTokens added_tokens;
  Normalizer normalizer;  // may be empty
  std::vector<PreTokenizer> pre_tokenizers;
  std::unique_ptr<const Model> model;
  PostProcessor post_processor;
  Pieces pieces;  // of the model, and added tokens

  Decoder decoder;                                             // may be empty
  std::unordered_map<std::uint32_t, std::string> added_texts;  // by id
  std::unordered_set<std::string> special_texts;
};

/// The contents of a tokenizer.json. Throws FileError for more than 256 MiB.
std::string read_tokenizer_file(const std::string& path);

/// Reads them from tokenizer.json. Throws FileError with the key.
std::shared_ptr<const TokenizerParts> parse_tokenizer(std::string_view json,
                                                      const std::string& file);

}  // namespace dynet_like::nn::text

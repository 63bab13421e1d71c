// The text of pieces, by the names of tokenizer.json.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/pre_tokenizers.h"
#include "nn/text/splits.h"

namespace dynet_like::nn::text {

/// Changes pieces on their way to a text, which is all of them without anything between.
using Decoder = std::function<void(std::vector<std::string>&)>;

/// The pieces with a string between them. Throws UsageError if they are too large.
std::string joined(const std::vector<std::string>& pieces, std::string_view between);

/// One piece: the bytes that visible characters stand for; U+FFFD for bytes that are not UTF-8.
void decode_bytes(std::vector<std::string>& pieces);
/// Pieces such as <0x0A> become the characters of their bytes.
void decode_fallback(std::vector<std::string>& pieces);
/// All pieces become one.
void fuse(std::vector<std::string>& pieces);

/// A space in front of each piece but the first and those that begin with the prefix. Cleaning
/// drops spaces before signs and English contractions.
Decoder word_piece_decoder(std::string prefix, bool cleans);
/// Spaces for the replacement; none in front of the first piece, if it was put there.
Decoder metaspace_decoder(const MetaspaceOptions& options);
/// A space for the suffix that ends a word; none behind the last piece.
Decoder byte_pair_decoder(std::string suffix);
/// Of equal neighbours one is kept; without padding, and with spaces for the delimiter if it cleans
/// (Graves et al., 2006).
Decoder ctc_decoder(std::string pad_token, std::string word_delimiter_token, bool cleans);
/// Drops at most so many of a character at both ends of each piece.
Decoder strip_decoder(char32_t content, std::uint64_t start, std::uint64_t stop);
Decoder replace_decoder(Pattern pattern, std::string content);

}  // namespace dynet_like::nn::text

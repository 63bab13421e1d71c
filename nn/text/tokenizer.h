// Tokenizers of pretrained models, as Hugging Face's library stores them in tokenizer.json.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::nn {

namespace text {
struct TokenizerParts;
}

/// Where a piece comes from.
struct PieceSource {
  std::int32_t text = -1;  ///< 0, or 1 for the second of two texts; -1 if the tokenizer added it
  std::int32_t word = -1;  ///< the number of its word in the text; -1 if the tokenizer added it
  std::uint32_t begin = 0, end = 0;  ///< its bytes: of the text, or of the word if words were given
};

/// A text in pieces. The three lists have one entry for each piece.
struct EncodedText {
  std::vector<std::uint32_t> ids;       ///< rows of an embedding table
  std::vector<std::uint32_t> segments;  ///< 0, or 1 where the model tells second texts apart
  std::vector<PieceSource> sources;
};

struct EncodeOptions {
  bool special_tokens = true;  ///< adds the tokens that the model expects, such as [CLS] and [SEP]
};

struct DecodeOptions {
  bool special_tokens = false;  ///< keeps special tokens, such as [CLS] and [SEP]
};

/// Cuts texts into the pieces that a pretrained model was trained on, with the same result as
/// Hugging Face's library. Copies share their contents. Several threads may use one tokenizer.
class Tokenizer {
 public:
  /// Reads tokenizer.json. Its blocks "truncation" and "padding" are ignored: texts keep their
  /// length. Throws FileError with the key if the file is missing or malformed, or has a component
  /// or an option that is not supported.
  static Tokenizer load(const std::string& path);
  /// The same from the contents of a file; `file` is its name in messages.
  static Tokenizer from_text(std::string_view json, const std::string& file = "tokenizer.json");

  /// The pieces of one or two texts. A special token that is written in a text, such as "[SEP]", is
  /// found there, too. Throws UsageError for text that is not UTF-8, with the first wrong byte, and
  /// for text of more than 64 MiB.
  EncodedText encode(std::string_view text, const EncodeOptions& options = {}) const;
  EncodedText encode(std::string_view first, std::string_view second,
                     const EncodeOptions& options = {}) const;
  /// The pieces of words. Each word is encoded by itself, so a space in front of it does not count.
  EncodedText encode(std::span<const std::string> words, const EncodeOptions& options = {}) const;
  EncodedText encode(std::span<const std::string> first, std::span<const std::string> second,
                     const EncodeOptions& options = {}) const;

  /// The text of pieces, by the decoder of the file, as in Hugging Face's library; without a
  /// decoder, pieces with spaces between them. Ids that the file lacks are left out. Throws
  /// UsageError for a text of more than 64 MiB.
  std::string decode(std::span<const std::uint32_t> ids, const DecodeOptions& options = {}) const;

  /// One more than the largest id: the rows of an embedding table.
  std::size_t size() const;
  /// The piece of an id, as the file writes it. Throws UsageError for an id that the file lacks.
  const std::string& piece(std::uint32_t id) const;
  /// The id of a piece; empty if the file lacks it.
  std::optional<std::uint32_t> find(std::string_view piece) const;

 private:
  explicit Tokenizer(std::shared_ptr<const text::TokenizerParts> parts);
  const text::TokenizerParts& parts() const;

  std::shared_ptr<const text::TokenizerParts> parts_;
};

}  // namespace dynet_like::nn

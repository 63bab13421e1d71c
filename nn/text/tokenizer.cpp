// Encodes texts: added tokens, normal form, words, pieces, and the template around them.
#include "nn/text/tokenizer.h"

#include <algorithm>
#include <utility>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "nn/text/tokenizer_parts.h"

namespace dynet_like::nn {

namespace {

void check_text(std::string_view text) {
  text::check_size(text.size());
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t bytes = detail::first_character(text.substr(at)).bytes;
    if (bytes == 0) {
      throw UsageError("a tokenizer needs text in UTF-8; got another byte at " +
                       std::to_string(at) + ", from 0");
    }
    at += bytes;
  }
}

/// The pieces of one text, while they are collected.
struct PieceList {
  std::vector<std::uint32_t> ids;
  std::vector<PieceSource> sources;
};

bool is_blank_in_piece(char32_t code) {
  constexpr char32_t kSpaceByte = 0x120;  // a space where bytes are visible
  return code == kSpaceByte || text::is_space(code);
}

/// Moves a place over white space at the ends of its piece, one character of the text each.
void trim(const text::Trimming& trimming, std::string_view piece, std::string_view whole,
          bool is_first, PieceSource& source) {
  std::size_t leading = 0, trailing = 0;
  for (std::size_t at = 0; at < piece.size(); at += text::character_bytes(piece[at]), ++leading) {
    if (!is_blank_in_piece(text::character_at(piece, at))) break;
  }
  for (std::size_t at = piece.size(); at > 0; ++trailing) {
    at = text::character_before(piece, at);
    if (!is_blank_in_piece(text::character_at(piece, at))) break;
  }
  if (trimming.add_prefix_space && leading == 1 && (is_first || source.begin == 0)) leading = 0;
  for (; leading > 0 && source.begin < source.end; --leading) {
    source.begin += static_cast<std::uint32_t>(text::character_bytes(whole[source.begin]));
  }
  source.begin = std::min(source.begin, source.end);
  std::size_t end = source.end;
  for (; trailing > 0 && end > 0; --trailing) end = text::character_before(whole, end);
  if (trailing > 0) return;  // the normalizer has put white space in: the reference gives up
  source.end = std::max(source.begin, static_cast<std::uint32_t>(end));
}

/// Appends the pieces of a text, or of a word if `word` is not negative.
void encode_part(const text::TokenizerParts& parts, std::string_view whole, std::int32_t word,
                 PieceList& pieces) {
  check_text(whole);
  text::Splits splits = parts.added_tokens.extract(whole, parts.normalizer);
  for (const text::PreTokenizer& pre_tokenizer : parts.pre_tokenizers) pre_tokenizer(splits);
  std::vector<text::WordPart> cut;
  for (std::size_t i = 0; i < splits.parts.size(); ++i) {
    const text::Split& part = splits.parts[i];
    cut.clear();
    if (part.token) {
      cut.push_back({*part.token, 0, part.end - part.begin});
    } else {
      parts.model->cut(splits.text(part), cut);
    }
    for (const text::WordPart& piece : cut) {
      PieceSource source = {0, word < 0 ? static_cast<std::int32_t>(i) : word, 0, 0};
      // A suffix that was added may have pieces of its own.
      const std::size_t last = part.end - part.begin;
      if (piece.begin < piece.end && piece.end <= last) {
        source.begin = splits.aligned.places[part.begin + piece.begin].begin;
        source.end = splits.aligned.places[part.begin + piece.end - 1].end;
      }
      for (const text::Trimming& trimming : parts.post_processor.trimmings) {
        const std::string_view shown =
            part.token ? splits.text(part) : std::string_view(parts.pieces.piece(piece.id));
        trim(trimming, shown, whole, pieces.ids.empty(), source);
      }
      pieces.ids.push_back(piece.id);
      pieces.sources.push_back(source);
    }
  }
}

PieceList encode_text(const text::TokenizerParts& parts, std::string_view text) {
  PieceList pieces;
  encode_part(parts, text, -1, pieces);
  return pieces;
}

PieceList encode_words(const text::TokenizerParts& parts, std::span<const std::string> words) {
  PieceList pieces;
  for (std::size_t i = 0; i < words.size(); ++i) {
    encode_part(parts, words[i], static_cast<std::int32_t>(i), pieces);
  }
  return pieces;
}

EncodedText in_template(const text::Template& pattern, std::span<const PieceList> texts,
                        const EncodeOptions& options) {
  EncodedText result;
  for (const text::TemplateItem& item : pattern) {
    if (item.text < 0) {
      if (!options.special_tokens) continue;
      result.ids.insert(result.ids.end(), item.ids.begin(), item.ids.end());
      result.sources.resize(result.ids.size());
    } else {
      const PieceList& text = texts[static_cast<std::size_t>(item.text)];
      result.ids.insert(result.ids.end(), text.ids.begin(), text.ids.end());
      for (PieceSource source : text.sources) {
        source.text = item.text;
        result.sources.push_back(source);
      }
    }
    result.segments.resize(result.ids.size(), item.segment);
  }
  return result;
}

}  // namespace

Tokenizer::Tokenizer(std::shared_ptr<const text::TokenizerParts> parts)
    : parts_(std::move(parts)) {}

Tokenizer Tokenizer::load(const std::string& path) {
  return from_text(text::read_tokenizer_file(path), path);
}

Tokenizer Tokenizer::from_text(std::string_view json, const std::string& file) {
  return Tokenizer(text::parse_tokenizer(json, file));
}

const text::TokenizerParts& Tokenizer::parts() const {
  if (parts_ == nullptr) throw UsageError("need a tokenizer that was not moved from");
  return *parts_;
}

EncodedText Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  const PieceList texts[] = {encode_text(parts(), text)};
  return in_template(parts().post_processor.single, texts, options);
}

EncodedText Tokenizer::encode(std::string_view first, std::string_view second,
                              const EncodeOptions& options) const {
  const PieceList texts[] = {encode_text(parts(), first), encode_text(parts(), second)};
  return in_template(parts().post_processor.pair, texts, options);
}

EncodedText Tokenizer::encode(std::span<const std::string> words,
                              const EncodeOptions& options) const {
  const PieceList texts[] = {encode_words(parts(), words)};
  return in_template(parts().post_processor.single, texts, options);
}

EncodedText Tokenizer::encode(std::span<const std::string> first,
                              std::span<const std::string> second,
                              const EncodeOptions& options) const {
  const PieceList texts[] = {encode_words(parts(), first), encode_words(parts(), second)};
  return in_template(parts().post_processor.pair, texts, options);
}

std::string Tokenizer::decode(std::span<const std::uint32_t> ids,
                              const DecodeOptions& options) const {
  std::vector<std::string> pieces;
  for (const std::uint32_t id : ids) {
    const auto added = parts().added_texts.find(id);
    const std::string* const piece = added != parts().added_texts.end() ? &added->second
                                     : id < size()                      ? &parts().pieces.piece(id)
                                                                        : nullptr;
    if (piece == nullptr || piece->empty()) continue;
    if (options.special_tokens || !parts().special_texts.contains(*piece)) pieces.push_back(*piece);
  }
  if (parts().decoder) parts().decoder(pieces);
  return text::joined(pieces, parts().decoder ? "" : " ");
}

std::size_t Tokenizer::size() const { return parts().pieces.size(); }

const std::string& Tokenizer::piece(std::uint32_t id) const {
  if (id >= size() || parts().pieces.piece(id).empty()) {
    throw UsageError("need the id of a piece, below " + std::to_string(size()) + "; got " +
                     detail::index_text(id));
  }
  return parts().pieces.piece(id);
}

std::optional<std::uint32_t> Tokenizer::find(std::string_view piece) const {
  return parts().pieces.find(piece);
}

}  // namespace dynet_like::nn

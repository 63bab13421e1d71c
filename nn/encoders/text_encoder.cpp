// TextEncoder: pieces of words, and parts of long texts.
#include "nn/encoders/text_encoder.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/io/atomic_file.h"
#include "nn/text/characters.h"
#include "nn/text/tokenizer_parts.h"

namespace dynet_like::nn {

namespace {

constexpr const char *kConfig = "encoder.config", *kTokenizer = "encoder.tokenizer";

std::string tokenizer_file(const std::string& folder) {
  return (std::filesystem::path(folder) / "tokenizer.json").string();
}

const std::string& text_of(const Metadata& texts, const char* key) {
  const auto found = texts.find(key);
  if (found != texts.end()) return found->second;
  throw FileError("saved model",
                  fmt::format("[TextEncoder] need the texts of an encoder; got none for {}", key));
}

// Throws before an encoder is made if there is no tokenizer for it.
const std::string& config_of(const Metadata& texts) {
  text_of(texts, kTokenizer);
  return text_of(texts, kConfig);
}

// A part of a long text: its pieces, and those whose columns it gives.
struct TextPart {
  std::size_t begin = 0, end = 0, first = 0, last = 0;
};

// Part k begins with piece k * (most / 2). Of an overlap, each part gives the half that is its own.
std::vector<TextPart> parts_of(std::size_t pieces, std::size_t most) {
  if (pieces <= most) return {{0, pieces, 0, pieces}};
  const std::size_t step = std::max<std::size_t>(most / 2, 1), margin = (most - step) / 2;
  std::vector<TextPart> parts;
  for (std::size_t begin = 0; parts.empty() || parts.back().end < pieces; begin += step) {
    if (!parts.empty()) parts.back().last = begin + margin;
    const std::size_t first = parts.empty() ? 0 : begin + margin;
    parts.push_back({begin, std::min(begin + most, pieces), first, pieces});
  }
  return parts;
}

}  // namespace

TextEncoder::TextEncoder(Encoder encoder, std::string tokenizer_json, const std::string& file)
    : encoder_(std::move(encoder)),
      tokenizer_json_(std::make_shared<const std::string>(std::move(tokenizer_json))),
      tokenizer_(Tokenizer::from_text(*tokenizer_json_, file)) {
  if (tokenizer_.size() <= encoder_.config().vocabulary) return;
  throw FileError(file,
                  fmt::format("[TextEncoder] need ids below {}, the encoder's vocabulary; got "
                              "{}",
                              encoder_.config().vocabulary, tokenizer_.size() - 1));
}

TextEncoder TextEncoder::load(ParameterCollection& model, const std::string& folder,
                              const LayerOptions& options) {
  const std::string file = tokenizer_file(folder);
  std::string json = text::read_tokenizer_file(file);
  return TextEncoder(load_encoder(model, folder, options), std::move(json), file);
}

TextEncoder::TextEncoder(ParameterCollection& model, const Metadata& texts,
                         const LayerOptions& options)
    : TextEncoder(Encoder::without_weights(
                      model, EncoderConfig::from_text(config_of(texts), kConfig), options),
                  text_of(texts, kTokenizer), kTokenizer) {}

bool TextEncoder::is_in(const Metadata& texts) { return texts.contains(kConfig); }

Expression TextEncoder::pieces(ComputationGraph& graph, const EncodedText& text) const {
  const bool has_types = encoder_.config().token_types > 1;
  const auto is_added = [&](std::size_t i) { return text.sources[i].text < 0; };
  std::size_t front = 0, back = text.ids.size();
  while (front < back && is_added(front)) ++front;
  while (back > front && is_added(back - 1)) --back;
  const std::size_t most = encoder_.most_pieces(), added = text.ids.size() - (back - front);
  if (most > 0 && added >= most) {
    throw UsageError(fmt::format(
        "[TextEncoder] need positions for more pieces than the {} that the tokenizer adds; got {}",
        added, most));
  }
  std::vector<Expression> columns;
  for (const TextPart& part : parts_of(back - front, most > 0 ? most - added : back - front)) {
    std::vector<std::uint32_t> ids, types;
    const auto add = [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        ids.push_back(text.ids[i]);
        if (has_types) types.push_back(text.segments[i]);
      }
    };
    add(0, front);
    add(front + part.begin, front + part.end);
    add(back, text.ids.size());
    const Expression x = encoder_(graph, ids, types);
    const std::size_t first = part.first == 0 ? 0 : front + part.first - part.begin;
    const std::size_t last = front + part.end == back && part.last == back - front
                                 ? ids.size()
                                 : front + part.last - part.begin;
    const bool is_whole = first == 0 && last == ids.size();
    columns.push_back(
        is_whole ? x : pick_range(x, static_cast<unsigned>(first), static_cast<unsigned>(last), 1));
  }
  return columns.size() == 1 ? columns.front() : concatenate_cols(columns);
}

Expression TextEncoder::words(ComputationGraph& graph, std::span<const std::string> words,
                              Pooling pooling) const {
  if (words.empty()) throw UsageError("[TextEncoder] need at least 1 word; got 0");
  std::string joined;
  std::vector<std::size_t> begins;  // of words, with the blank in front
  for (const std::string& word : words) {
    begins.push_back(joined.size());
    // More blanks than one would be pieces in front of those of the next word.
    const std::string_view kept =
        dynet_like::detail::is_utf8(word) ? text::without_spaces(word) : word;
    if (!joined.empty() && !kept.empty()) joined += ' ';
    joined += kept;
  }
  const EncodedText text = tokenizer_.encode(joined);
  const auto count = static_cast<unsigned>(words.size());
  if (text.ids.empty()) return zeros(graph, {size(), count});
  std::vector<std::int32_t> word_of_piece;
  std::int32_t word = 0;
  for (const PieceSource& source : text.sources) {
    while (word + 1 < static_cast<std::int32_t>(count) &&
           begins[static_cast<std::size_t>(word) + 1] <= source.begin) {
      ++word;
    }
    word_of_piece.push_back(source.text < 0 ? -1 : word);
  }
  return pool_words(pieces(graph, text), word_of_piece, count, pooling);
}

Expression TextEncoder::text(ComputationGraph& graph, std::string_view text,
                             Pooling pooling) const {
  const EncodedText encoded = tokenizer_.encode(text);
  if (encoded.ids.empty()) return zeros(graph, {size()});
  return pool_sentence(pieces(graph, encoded), pooling);
}

Metadata TextEncoder::texts() const {
  return {{kConfig, encoder_.config().to_text()}, {kTokenizer, *tokenizer_json_}};
}

void TextEncoder::save(const std::string& folder) const {
  encoder_.save(folder);
  dynet_like::detail::write_atomically(tokenizer_file(folder), *tokenizer_json_);
}

TextEncoder TextEncoder::with_adapters(ParameterCollection& model,
                                       const AdapterOptions& options) const {
  TextEncoder result(*this);
  result.encoder_ = encoder_.with_adapters(model, options);
  return result;
}

}  // namespace dynet_like::nn

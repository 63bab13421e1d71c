// TextEncoder: pieces of words, and parts of long texts.
#include "nn/encoders/text_encoder.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/io/atomic_file.h"
#include "nn/encoders/sentence_folder.h"
#include "nn/encoders/tokenizer_folder.h"
#include "nn/text/characters.h"
#include "nn/text/tokenizer_parts.h"

namespace dynet_like::nn {

using namespace encoders;
namespace fs = std::filesystem;

namespace {

using Json = nlohmann::json;

constexpr const char *kConfig = "encoder.config", *kTokenizer = "encoder.tokenizer",
                     *kSentence = "encoder.sentence";

std::string tokenizer_file(const std::string& folder) {
  return (fs::path(folder) / "tokenizer.json").string();
}

const std::string& text_of(const Metadata& texts, const char* key) {
  const auto found = texts.find(key);
  if (found != texts.end()) return found->second;
  throw FileError("saved model",
                  fmt::format("[TextEncoder] need the texts of an encoder; got none for {}", key));
}

Tokenizer make_tokenizer(const std::string& json, const std::string& file,
                         const EncoderConfig& config) {
  Tokenizer tokenizer = Tokenizer::from_text(json, file);
  if (tokenizer.size() <= config.vocabulary) return tokenizer;
  throw FileError(file, fmt::format("[TextEncoder] need ids below {}, the encoder's vocabulary; "
                                    "got {}",
                                    config.vocabulary, tokenizer.size() - 1));
}

// Without modules, the vector of a text is the mean of its pieces.
SentenceConfig mean_of(const EncoderConfig& config) {
  SentenceConfig mean;
  mean.modules.push_back(
      {.poolings = {Pooling::mean}, .inputs = config.size, .outputs = config.size});
  return mean;
}

void complete(SentenceConfig& sentence, const EncoderConfig& config, const std::string& file) {
  if (sentence.modules.empty()) sentence.modules = mean_of(config).modules;
  try {
    sentence.check(config.size);
  } catch (const UsageError& error) {
    throw FileError(file, error.what());
  }
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

TextEncoder::TextEncoder(Encoder encoder, std::string tokenizer_json, Tokenizer tokenizer,
                         SentenceModules sentence)
    : encoder_(std::move(encoder)),
      tokenizer_json_(std::make_shared<const std::string>(std::move(tokenizer_json))),
      tokenizer_(std::move(tokenizer)),
      sentence_(std::move(sentence)) {}

TextEncoder TextEncoder::load(ParameterCollection& model, const std::string& folder,
                              const EncoderFileOptions& options) {
  SentenceFolder sentence(folder);
  const EncoderConfig config = EncoderConfig::read(sentence.encoder + "/config.json");
  const std::string file = tokenizer_file(sentence.encoder);
  std::string json = tokenizer_of_folder(sentence.encoder);
  Tokenizer tokenizer = make_tokenizer(json, file, config);
  complete(sentence.config, config, folder);
  sentence.weights.resize(sentence.config.modules.size());
  Encoder encoder = load_encoder(model, sentence.encoder, options);
  return TextEncoder(std::move(encoder), std::move(json), std::move(tokenizer),
                     SentenceModules(model, sentence, config.size));
}

TextEncoder TextEncoder::from_texts(ParameterCollection& model, const Metadata& texts,
                                    const LayerOptions& options) {
  const std::string& json = text_of(texts, kTokenizer);
  const EncoderConfig config = EncoderConfig::from_text(text_of(texts, kConfig), kConfig);
  Tokenizer tokenizer = make_tokenizer(json, kTokenizer, config);
  SentenceConfig sentence;
  if (const auto found = texts.find(kSentence); found != texts.end()) {
    sentence = SentenceConfig::from_text(found->second, kSentence);
  }
  complete(sentence, config, kSentence);
  Encoder encoder = Encoder::without_weights(model, config, options);
  return TextEncoder(std::move(encoder), json, std::move(tokenizer),
                     SentenceModules(model, sentence, config.size));
}

TextEncoder::TextEncoder(ParameterCollection& model, const Metadata& texts,
                         const LayerOptions& options)
    : TextEncoder(from_texts(model, texts, options)) {}

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

Expression TextEncoder::text(ComputationGraph& graph, std::string_view text) const {
  const EncodedText encoded = tokenizer_.encode(sentence_.config().prompt + std::string(text));
  if (encoded.ids.empty()) return zeros(graph, {text_size()});
  return sentence_(pieces(graph, encoded));
}

Expression TextEncoder::text(ComputationGraph& graph, std::string_view text,
                             Pooling pooling) const {
  const EncodedText encoded = tokenizer_.encode(text);
  if (encoded.ids.empty()) return zeros(graph, {size()});
  return pool_sentence(pieces(graph, encoded), pooling);
}

Metadata TextEncoder::texts() const {
  return {{kConfig, encoder_.config().to_text()},
          {kTokenizer, *tokenizer_json_},
          {kSentence, sentence_.config().to_text()}};
}

void TextEncoder::save(const std::string& folder) const {
  encoder_.save(folder);
  dynet_like::detail::write_atomically(tokenizer_file(folder), *tokenizer_json_);
  // All is in tokenizer.json. A class of the family would have defaults of its own.
  Json settings = {{"tokenizer_class", "PreTrainedTokenizerFast"}};
  for (const Json& token : Json::parse(*tokenizer_json_).value("added_tokens", Json::array())) {
    if (token.at("id") == encoder_.config().padding) settings["pad_token"] = token.at("content");
  }
  dynet_like::detail::write_atomically(fs::path(folder) / "tokenizer_config.json",
                                       settings.dump(2) + '\n');
  if (sentence_.config().to_text() != mean_of(encoder_.config()).to_text()) sentence_.save(folder);
}

TextEncoder TextEncoder::with_adapters(ParameterCollection& model,
                                       const AdapterOptions& options) const {
  TextEncoder result(*this);
  result.encoder_ = encoder_.with_adapters(model, options);
  return result;
}

}  // namespace dynet_like::nn

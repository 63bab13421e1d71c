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

// Of an encoder that has no limit. Attention takes memory for every pair of pieces.
constexpr std::size_t kMostWithoutLimit = 2048;

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

// A part of a text that is read at once: its pieces, and those whose columns it gives.
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

// Columns `first` to `last` - 1 of the output for a part, of piece `piece` and those behind it.
struct Columns {
  unsigned first = 0, last = 0;
  std::size_t piece = 0;
};

// The parts of a text. All begin and end with the pieces that the tokenizer adds at its ends.
class Parts {
 public:
  Parts(const Encoder& encoder, const EncodedText& text)
      : encoder_(encoder), text_(text), back_(text.ids.size()) {
    const auto is_added = [&](std::size_t i) { return text.sources[i].text < 0; };
    while (front_ < back_ && is_added(front_)) ++front_;
    while (back_ > front_ && is_added(back_ - 1)) --back_;
    const std::size_t added = text.ids.size() - (back_ - front_);
    const std::size_t most = encoder.most_pieces() > 0 ? encoder.most_pieces() : kMostWithoutLimit;
    if (added >= most) {
      throw UsageError(fmt::format(
          "[TextEncoder] need positions for more pieces than the {} that the tokenizer adds; got "
          "{}",
          added, most));
    }
    all_ = parts_of(back_ - front_, most - added);
  }

  std::size_t size() const { return all_.size(); }
  unsigned size_of_column() const { return encoder_.config().size; }

  // The first and the last part also give the columns of what is added.
  Columns columns(std::size_t i) const {
    const TextPart& part = all_[i];
    const std::size_t first = i == 0 ? 0 : front_ + part.first - part.begin;
    const std::size_t last =
        front_ + part.last - part.begin + (i + 1 == size() ? text_.ids.size() - back_ : 0);
    return {static_cast<unsigned>(first), static_cast<unsigned>(last), part.begin + first};
  }

  // What `use` makes of the output for a part. Only its last node is kept in inference.
  template <class Use>
  Expression read(ComputationGraph& graph, std::size_t i, const Use& use) const {
    const bool has_types = encoder_.config().token_types > 1;
    std::vector<std::uint32_t> ids, types;
    const auto add = [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) {
        ids.push_back(text_.ids[k]);
        if (has_types) types.push_back(text_.segments[k]);
      }
    };
    add(0, front_);
    add(front_ + all_[i].begin, front_ + all_[i].end);
    add(back_, text_.ids.size());
    const std::size_t first = graph.size();
    const Expression result = use(encoder_(graph, ids, types));
    graph.forget_values(first, graph.size() - 1);
    return result;
  }
  Expression read(ComputationGraph& graph, std::size_t i) const {
    return read(graph, i, [&](const Expression& x) {
      const Columns own = columns(i);
      const bool is_whole = own.first == 0 && own.last == x.dim().cols();
      return is_whole ? x : pick_range(x, own.first, own.last, 1);
    });
  }

 private:
  const Encoder& encoder_;
  const EncodedText& text_;
  std::size_t front_ = 0, back_;  // of the pieces that are not added
  std::vector<TextPart> all_;
};

Expression join(const std::vector<Expression>& columns) {
  return columns.size() == 1 ? columns.front() : concatenate_cols(columns);
}

Expression read_all(ComputationGraph& graph, const Parts& parts) {
  std::vector<Expression> columns;
  for (std::size_t i = 0; i < parts.size(); ++i) columns.push_back(parts.read(graph, i));
  return join(columns);
}

// pool_words for the first piece of a word or the mean, part by part, so that no columns of pieces
// are kept. Parts without a piece that is needed are not read.
Expression pool_parts(ComputationGraph& graph, const Parts& parts,
                      std::span<const std::int32_t> word_of_piece, unsigned words,
                      Pooling pooling) {
  std::vector<unsigned> pieces(words, 0), sums(words, 0);  // of each word
  std::vector<Expression> columns;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Columns own = parts.columns(i);
    std::vector<unsigned> used, lengths;
    std::int32_t last = -1;
    for (unsigned column = own.first; column < own.last; ++column) {
      const std::int32_t word = word_of_piece[own.piece + column - own.first];
      if (word < 0) continue;
      unsigned& count = pieces[static_cast<std::size_t>(word)];
      if (pooling == Pooling::first && count > 0) continue;
      ++count;
      used.push_back(column);
      if (std::exchange(last, word) != word) {
        lengths.push_back(0);
        ++sums[static_cast<std::size_t>(word)];
      }
      ++lengths.back();
    }
    if (used.empty()) continue;
    columns.push_back(parts.read(graph, i, [&](const Expression& x) {
      const Expression chosen = select_cols(x, used);
      return lengths.size() == used.size() ? chosen : segment_sum(chosen, lengths);
    }));
  }
  if (columns.empty()) return zeros(graph, {parts.size_of_column(), words});
  const auto is_one = [](unsigned n) { return n == 1; };
  Expression all = join(columns);
  if (!std::ranges::all_of(sums, is_one)) all = segment_sum(all, sums);
  if (pooling == Pooling::first || std::ranges::all_of(pieces, is_one)) return all;
  std::vector<float> shares(words);
  std::ranges::transform(pieces, shares.begin(),
                         [](unsigned n) { return 1 / static_cast<float>(std::max(n, 1u)); });
  return cmult(all, input(graph, {1, words}, shares));
}

// pool_sentence. Of the first column and of the mean, no columns of pieces are kept.
Expression pool_text(ComputationGraph& graph, const Parts& parts, Pooling pooling) {
  if (parts.size() == 1 || pooling == Pooling::first) {
    return pool_sentence(parts.read(graph, 0), pooling);
  }
  if (pooling != Pooling::mean) return pool_sentence(read_all(graph, parts), pooling);
  std::vector<Expression> sums;
  std::size_t pieces = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Columns own = parts.columns(i);
    pieces += own.last - own.first;
    sums.push_back(parts.read(graph, i, [&](const Expression& x) {
      return segment_sum(pick_range(x, own.first, own.last, 1), {own.last - own.first});
    }));
  }
  const Expression all = segment_sum(join(sums), {static_cast<unsigned>(sums.size())});
  return reshape(all, {parts.size_of_column()}) * (1 / static_cast<float>(pieces));
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
  return read_all(graph, Parts(encoder_, text));
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
  const Parts parts(encoder_, text);
  const bool is_kept = pooling != Pooling::first && pooling != Pooling::mean;
  if (parts.size() == 1 || is_kept) {
    return pool_words(read_all(graph, parts), word_of_piece, count, pooling);
  }
  return pool_parts(graph, parts, word_of_piece, count, pooling);
}

Expression TextEncoder::text(ComputationGraph& graph, std::string_view text) const {
  const EncodedText encoded = tokenizer_.encode(sentence_.config().prompt + std::string(text));
  if (encoded.ids.empty()) return zeros(graph, {text_size()});
  const std::vector<Pooling>& poolings = sentence_.config().modules.front().poolings;
  const Parts parts(encoder_, encoded);
  // The pooling of one column is that column.
  if (poolings.size() == 1) return sentence_(pool_text(graph, parts, poolings.front()));
  return sentence_(read_all(graph, parts));
}

Expression TextEncoder::text(ComputationGraph& graph, std::string_view text,
                             Pooling pooling) const {
  const EncodedText encoded = tokenizer_.encode(text);
  if (encoded.ids.empty()) return zeros(graph, {size()});
  return pool_text(graph, Parts(encoder_, encoded), pooling);
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

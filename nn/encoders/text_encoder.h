// TextEncoder: a pretrained encoder with its tokenizer, for words and texts.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "nn/encoders/encoder.h"
#include "nn/encoders/pooling.h"
#include "nn/encoders/sentence_modules.h"
#include "nn/text/tokenizer.h"

namespace dynet_like::nn {

/// Vectors of words and texts in context, from a folder with an encoder and its tokenizer.
/// Texts may have any length. If one has more pieces than the encoder has positions, or than 2,048
/// if there is no limit, it is read in parts that overlap: each has the most pieces, and begins
/// half of them behind the part before. A piece gets its column from the part in which it is
/// farther from both ends.
///
/// In inference, parts run some at a time, and only what is asked for is kept of them: a vector of
/// a text, or columns of words or pieces.
class TextEncoder {
 public:
  /// Reads an encoder (load_encoder), its tokenizer (tokenizer_of_folder) and, if there is a
  /// modules.json of Sentence Transformers, what that says of the vector of a text. Throws
  /// FileError for files that are missing, malformed, not supported or do not fit each other.
  static TextEncoder load(ParameterCollection& model, const std::string& folder,
                          const EncoderFileOptions& options = {});
  /// An encoder for the parameters of a saved model, which are 0 until they are loaded. `texts` are
  /// the result of texts(), such as SavedModel::metadata(). Throws FileError, for example for a
  /// text that is missing.
  TextEncoder(ParameterCollection& model, const Metadata& texts, const LayerOptions& options = {});

  // Moving copies, so that a moved-from object still has its encoder.
  TextEncoder(const TextEncoder&) = default;
  TextEncoder& operator=(const TextEncoder&) = default;

  /// Whether `texts` have what texts() returns.
  static bool is_in(const Metadata& texts);

  /// A column for every word, from its pieces in the text of all words with blanks between them;
  /// zeros for a word without any, such as "". White space at the ends of a word does not count. A
  /// piece over two words is one of the first. Shapes: n words -> {size, n}. Throws UsageError for
  /// no words, and what Tokenizer::encode throws.
  Expression words(ComputationGraph& graph, std::span<const std::string> words,
                   Pooling pooling = Pooling::first) const;
  /// The vector of a text, as modules.json says: with a prompt in front, a pooling, a layer, length
  /// 1. Without that file it is the mean of its pieces. Shape: {text_size}.
  Expression text(ComputationGraph& graph, std::string_view text) const;
  /// The vector of a text from its pieces alone. Shape: {size}.
  Expression text(ComputationGraph& graph, std::string_view text, Pooling pooling) const;
  /// A column for every piece. Shapes: n pieces -> {size, n}.
  Expression pieces(ComputationGraph& graph, const EncodedText& text) const;

  /// Of a column.
  unsigned size() const { return encoder_.config().size; }
  /// Of the vector of a text.
  unsigned text_size() const { return sentence_.size(); }
  const Encoder& encoder() const { return encoder_; }
  const Tokenizer& tokenizer() const { return tokenizer_; }
  /// Config, tokenizer.json and modules, for FileOptions::texts or save_parameters.
  Metadata texts() const;
  /// Encoder::save, with tokenizer.json and modules, for transformers and Sentence Transformers.
  void save(const std::string& folder) const;
  /// A copy with Encoder::with_adapters.
  TextEncoder with_adapters(ParameterCollection& model, const AdapterOptions& options = {}) const;

 private:
  static TextEncoder from_texts(ParameterCollection& model, const Metadata& texts,
                                const LayerOptions& options);
  TextEncoder(Encoder encoder, std::string tokenizer_json, Tokenizer tokenizer,
              encoders::SentenceModules sentence);

  Encoder encoder_;
  std::shared_ptr<const std::string> tokenizer_json_;
  Tokenizer tokenizer_;
  encoders::SentenceModules sentence_;
};

}  // namespace dynet_like::nn

// WordEncoder: vectors of the words of a sentence in their context, by an LSTM.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nn/bidirectional.h"
#include "nn/character_lstm.h"
#include "nn/data/conllu.h"
#include "nn/data/vocabulary.h"
#include "nn/embedding.h"
#include "nn/encoders/text_encoder.h"
#include "nn/linear.h"

namespace dynet_like::nn {

/// Any encoder: the words of a sentence, at least one, become a matrix {size, words}.
struct SentenceEncoder {
  unsigned size = 0;
  std::function<Expression(ComputationGraph& graph, std::span<const std::string> words)> encode;
};

struct WordEncoderOptions {
  unsigned word = 100;      ///< the size of a word's vector
  unsigned character = 32;  ///< the size of a character's vector
  unsigned spelling = 64;   ///< the size of an LSTM over characters
  unsigned hidden = 256;    ///< the size of an LSTM over words
  unsigned layers = 3;
  /// The size of pretrained vectors; 0: there are none.
  unsigned pretrained = 0;
  /// The dropout rate, also of whole words, at least 0 and below 1.
  float dropout = 0.33f;
  std::string name = {};
};

/// The vocabularies of a WordEncoder. All have an unknown word.
struct WordEncoderVocabularies {
  Vocabulary words, characters, pretrained = {};

  /// Words in small letters that occur at least twice, and characters that do.
  static WordEncoderVocabularies of(std::span<const ConlluSentence> sentences);
};

/// The vector of a word is the sum of its own and its pretrained one, what two LSTMs read in its
/// characters (Ling et al. 2015, Dozat and Manning 2017), and its column of a pretrained encoder,
/// if there is one. LSTMs from both ends read the sentence. The result has what they found, and
/// below it the vector of the word itself, whose spelling decides its lemma.
class WordEncoder {
 public:
  /// Adds its layers to a subcollection of `model`, by default "word_encoder". Pretrained vectors
  /// are 0 until they are loaded, and never updated. Throws UsageError for a vocabulary without an
  /// unknown word. `context` may have its parameters anywhere.
  WordEncoder(ParameterCollection& model, WordEncoderVocabularies vocabularies,
              const WordEncoderOptions& options, std::optional<TextEncoder> context = {});
  // Moving copies, so that a moved-from object still has its layers.
  WordEncoder(const WordEncoder&) = default;
  WordEncoder& operator=(const WordEncoder&) = default;

  /// Shapes: {size(), words}. Throws UsageError for no words.
  Expression operator()(ComputationGraph& graph, std::span<const std::string> words) const;

  /// 2 * hidden + word + 2 * spelling, and the size of the pretrained encoder.
  unsigned size() const { return 2 * lstm_.hidden() + input_size_; }
  const WordEncoderVocabularies& vocabularies() const { return vocabularies_; }
  /// The table of pretrained vectors; nothing if there are none.
  const std::optional<Embedding>& pretrained() const { return pretrained_; }
  const std::optional<TextEncoder>& context() const { return context_; }

 private:
  Expression spelling_of(ComputationGraph& graph, const std::string& word) const;

  ParameterCollection own_;  // with the parameters of the members below
  WordEncoderVocabularies vocabularies_;
  std::optional<TextEncoder> context_;
  Embedding words_;
  CharacterLSTM spelling_;
  unsigned input_size_;
  BidirectionalLSTM lstm_;
  std::optional<Embedding> pretrained_;
  std::optional<Linear> to_word_;
  float dropout_;
};

}  // namespace dynet_like::nn

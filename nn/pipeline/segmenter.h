// Segmenter: finds the ends of tokens and sentences in the characters of a text.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "nn/bidirectional.h"
#include "nn/data/conllu.h"
#include "nn/data/vocabulary.h"
#include "nn/embedding.h"
#include "nn/linear.h"
#include "nn/pipeline/raw_text.h"

namespace dynet_like::nn {

/// What ends with a character. A sentence ends with a token.
enum class CharacterLabel : std::uint8_t {
  inside,
  token,
  multiword,  ///< a token that consists of several words
  sentence,
  multiword_and_sentence,
};

/// A part of a paragraph that the model reads at once. Labels are those of the characters from
/// `begin` to `end` - 1; the others are context.
struct TextWindow {
  std::vector<std::uint32_t> characters = {};
  std::vector<CharacterLabel> labels = {};  ///< of all characters; for training
  std::uint32_t begin = 0, end = 0;
};

/// Cuts paragraphs into windows. Window k of a paragraph is for its characters from 512 k to 512 k
/// + 511, and has up to 64 more on either side. So windows depend on nothing but the place in the
/// paragraph, and their memory does not grow with it.
class TextWindows {
 public:
  static constexpr std::size_t kSize = 512, kContext = 64;

  void add(std::uint32_t character, CharacterLabel label = CharacterLabel::inside);
  void end_paragraph();
  /// The windows that are complete, in order.
  std::vector<TextWindow> take() { return std::exchange(complete_, {}); }
  std::size_t size() const { return complete_.size(); }

 private:
  void cut();

  std::vector<std::uint32_t> characters_;  // of the paragraph, from context of the next window on
  std::vector<CharacterLabel> labels_;
  std::size_t begin_ = 0;  // of the next window, without its context
  std::vector<TextWindow> complete_;
};

struct SegmenterOptions {
  unsigned embedding = 32;  ///< the size of a character's vector
  unsigned hidden = 96;     ///< the size of an LSTM
  unsigned layers = 2;
  /// Whether tokens may have spaces, as in Vietnamese, or "10 000" in French.
  bool spaces = false;
  /// The dropout rate, at least 0 and below 1.
  float dropout = 0.25f;
  std::string name = {};
};

/// A bidirectional LSTM over characters labels each with what ends there. Spaces between two
/// characters are one character, a blank. If tokens may have spaces, those behind a character that
/// ends nothing are a part of its token.
class Segmenter {
 public:
  /// Adds the layers "characters", "lstm" and "output" to a subcollection of `model`, by default
  /// "segmenter". Throws UsageError for a vocabulary without an unknown character.
  Segmenter(ParameterCollection& model, Vocabulary characters,
            const SegmenterOptions& options = {});
  // Moving copies, so that a moved-from object still has its layers.
  Segmenter(const Segmenter&) = default;
  Segmenter& operator=(const Segmenter&) = default;

  /// The characters that occur often in the text of some sentences, and a blank.
  static Vocabulary characters_of(std::span<const ConlluSentence> sentences);
  /// Whether a token of some sentences has a space.
  static bool has_spaces_in_tokens(std::span<const ConlluSentence> sentences);
  /// The windows of the text of a treebank, for training: those in which a TextReader reads it.
  std::vector<TextWindow> windows_of(std::span<const ConlluSentence> sentences) const;

  /// The number of a character in windows.
  std::uint32_t id(const RawUnit& unit) const {
    return characters_.id(unit.is_space ? " " : unit.bytes);
  }
  /// The sum of the losses of a window's own characters. Shapes: {1}.
  Expression loss(ComputationGraph& graph, const TextWindow& window) const;
  /// The scores of the labels of a window's own characters. Shapes: {labels, characters}.
  Expression scores(ComputationGraph& graph, const TextWindow& window) const;

  const Vocabulary& characters() const { return characters_; }
  /// SegmenterOptions::spaces.
  bool spaces() const { return spaces_; }

 private:
  ParameterCollection own_;  // with the parameters of the members below
  Vocabulary characters_;
  bool spaces_;
  Embedding embedding_;
  BidirectionalLSTM lstm_;
  Linear output_;
  float dropout_;
};

/// The best label of each character.
std::vector<CharacterLabel> best_labels(const Tensor& scores);

}  // namespace dynet_like::nn

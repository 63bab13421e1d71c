// TextReader: sentences of raw text, one batch of windows after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <istream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/data/conllu.h"
#include "nn/pipeline/multiwords.h"
#include "nn/pipeline/segmenter.h"

namespace dynet_like::nn {

/// Calls f(graph, some) for all samples of these sizes: some at a time, in any order and in any
/// graphs. For files that is nn::predict, for a server the graph of a request.
using RunSamples = std::function<void(
    std::span<const std::uint32_t> sizes,
    const std::function<void(ComputationGraph& graph, std::span<const std::size_t> some)>& f)>;

/// A text, among those of an output.
struct DocumentOptions {
  std::string id = {};             ///< of the comment "# newdoc id"; if empty, it is "# newdoc"
  std::size_t first_sentence = 1;  ///< the first "# sent_id", which must differ in one output
  bool lines = false;              ///< whether every line is a sentence
};

/// Reads the text of a document as sentences with FORM and MISC, multi-word tokens, and the
/// comments "# newdoc", "# newpar", "# sent_id" and "# text". text_of() returns the text again,
/// byte for byte, if it has anything but spaces. A blank line ends a sentence, and spaces end a
/// token, unless tokens of the treebank have spaces: these are a blank in FORM. A token has at most
/// 256 characters and a sentence at most 256 words: longer ones are cut. Memory does not grow with
/// the text, but with the spaces between two characters.
class TextReader {
 public:
  static constexpr std::size_t kLongestToken = 256, kLongestSentence = 256;

  /// All arguments must outlive the reader.
  TextReader(const Segmenter& segmenter, const Multiwords& multiwords, std::istream& text,
             DocumentOptions options = {})
      : segmenter_(segmenter),
        multiwords_(multiwords),
        options_(std::move(options)),
        units_(text, options_.lines) {}
  TextReader(const TextReader&) = delete;

  /// The next sentences; none at the end of the text. Sentences do not depend on how much a call
  /// returns. Throws FileError if the stream cannot be read.
  std::vector<ConlluSentence> next(const RunSamples& run);

 private:
  bool read_windows();
  void add(const RawUnit& unit, CharacterLabel label);
  void add_spaces(const RawUnit& spaces);
  void end_token(bool is_multiword);
  void end_sentence();

  const Segmenter& segmenter_;
  const Multiwords& multiwords_;
  DocumentOptions options_;
  RawUnits units_;
  TextWindows windows_;
  std::deque<RawUnit> waiting_;  ///< those that have no label yet
  struct Token {
    std::string text, form;  ///< FORM has a blank for any spaces
    std::size_t characters = 0;
  };
  Token token_;         ///< the one that is not complete
  std::string before_;  ///< spaces in front of the text
  TokenSpaces spaces_;  ///< of the last token
  bool begins_document_ = true, begins_paragraph_ = true, ends_ = false;
  // The sentence that is not complete.
  ConlluSentence sentence_;
  std::string text_;
  std::vector<ConlluSentence> complete_;
};

/// The columns of a word of which only the form is known.
ConlluColumns unknown_columns(std::string form);

}  // namespace dynet_like::nn

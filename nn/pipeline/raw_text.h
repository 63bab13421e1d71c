// Raw text: its characters and spaces, and how CoNLL-U keeps the spaces between tokens.
#pragma once

#include <cstddef>
#include <istream>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/data/conllu.h"

namespace dynet_like::nn {

/// The bytes of the space that a text begins with, or 0: blank, tab, line ends, the other control
/// characters that separate, the spaces of Unicode, and a byte order mark.
std::size_t space_bytes(std::string_view text);

/// A character, or all spaces between two characters.
struct RawUnit {
  std::string bytes = {};
  bool is_space = false;
  /// Whether it divides the text: spaces with a blank line, or at the beginning or end of the text.
  bool is_border = false;

  /// Whether the spaces have a blank line.
  bool has_blank_line() const;
};

/// Reads a stream unit by unit. A unit does not depend on how the stream is divided into reads.
/// Bytes that are no UTF-8 are characters.
class RawUnits {
 public:
  /// The stream must outlive the reader. If `lines`, every line end is a border.
  explicit RawUnits(std::istream& stream, bool lines = false) : stream_(stream), lines_(lines) {}
  RawUnits(const RawUnits&) = delete;
  /// The next unit; nothing at the end.
  std::optional<RawUnit> next();

 private:
  std::string_view rest();

  std::istream& stream_;
  const bool lines_;
  bool is_first_ = true;
  std::string block_;
  std::size_t begin_ = 0;
};

/// A token of the text: a word, or a multi-word token.
struct TextToken {
  const ConlluColumns& columns;
  bool is_multiword = false;
};

/// The tokens of a sentence, which must outlive them.
std::vector<TextToken> tokens_of(const ConlluSentence& sentence);
/// Whether the sentence has the comment "# newpar" or "# newdoc".
bool begins_paragraph(const ConlluSentence& sentence);

/// The spaces that MISC has for a token; nothing if it does not say, which means a blank.
std::optional<std::string> spaces_after(const ConlluColumns& token);
/// The spaces of a token in the text.
struct TokenSpaces {
  std::string before = {}, after = {};
  std::string token = {};  ///< with the spaces in it, if FORM has others; else empty
};
/// The value of MISC for these spaces, as UDPipe writes it: nothing for a blank behind the token,
/// "SpaceAfter=No" for no spaces, else "SpacesAfter=", "SpacesBefore=" and "SpacesInToken=" with
/// \s, \t, \r, \n, \p and \\ for blank, tab, line ends, "|" and "\", and "\u00A0" and the like for
/// all other spaces. "_" if nothing is left.
std::string misc_of_spaces(const TokenSpaces& spaces);
/// The text without these escapes. Other texts behind "\" stay as they are.
std::string unescaped_spaces(std::string_view text);

/// The text of a document: its tokens, and the spaces that MISC has. A sentence with "# newpar" or
/// "# newdoc" has a blank line in front of it, even if MISC says less. If the sentences are those
/// of a TextReader, the result has the bytes of the text that it read. `ends`, if given, gets the
/// place behind each token in the text.
std::string text_of(std::span<const ConlluSentence> sentences,
                    std::vector<std::size_t>* ends = nullptr);

}  // namespace dynet_like::nn

// Multiwords: how tokens such as "don't" are split into words.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/data/conllu.h"

namespace dynet_like::nn {

/// A table of the multi-word tokens of a treebank. A token that is not in it is split like tokens
/// with the same ending: "Zoe's" like "Iran's".
class Multiwords {
 public:
  Multiwords() = default;
  explicit Multiwords(std::span<const ConlluSentence> sentences);

  /// The words of a token; only the token itself if no token of the treebank is like it. If the
  /// words of the treebank make up the token, in any case, they are cut out of it as it is written.
  /// Else they have a capital letter, or only capitals, where the token has.
  std::vector<std::string> split(std::string_view token) const;

  /// The table as text, a line per entry, and back. Throws FileError for a line that is no entry;
  /// `file` says where the text is from.
  std::string to_text() const;
  static Multiwords from_text(std::string_view text, const std::string& file);

 private:
  using Words = std::vector<std::string>;

  /// By whole tokens in small letters, with "=" in front, and by endings, with "*" in front. The
  /// first word of an ending is what is in front of it, and is left out here.
  std::map<std::string, Words, std::less<>> words_;
};

}  // namespace dynet_like::nn

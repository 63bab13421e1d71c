// Tokens that are found in a text as a whole, before a model sees it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/aligned_text.h"
#include "nn/text/splits.h"
#include "nn/text/trie.h"

namespace dynet_like::nn::text {

struct AddedToken {
  std::string content;
  std::uint32_t id = 0;
  bool single_word = false;  ///< not inside a word
  bool lstrip = false;       ///< with the white space in front of it
  bool rstrip = false;       ///< with the white space behind it
  bool normalized = true;    ///< found in the normalised text
  bool special = false;      ///< not part of a text that is decoded
  std::string text;          ///< as it is found: normalised, or not
};

/// Finds tokens, the first one and of these the longest.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// The normalizer may be empty. Of tokens that would be found in the same text, the first is
  /// found. Throws UsageError for a token that would be found in no text.
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer);

  /// Normalises a text in valid UTF-8, except for the tokens that are not normalised, and splits it
  /// at all tokens.
  Splits extract(std::string_view text, const Normalizer& normalizer) const;

  const std::vector<AddedToken>& all() const { return tokens_; }

 private:
  /// The tokens that are found in one kind of text, and the bytes that they begin with.
  struct Finder {
    Trie trie;
    std::array<bool, 256> begins{};
    bool is_empty = true;
  };
  Finder finder(bool is_normalized) const;
  template <class F>
  void find(const Finder& finder, std::string_view text, const F& emit) const;
  void add_normalised(AlignedText aligned, Splits& splits) const;

  std::vector<AddedToken> tokens_;
  Finder raw_, normalised_;
};

}  // namespace dynet_like::nn::text

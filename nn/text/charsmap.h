// SentencePiece's table of characters and their replacements.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/aligned_text.h"

namespace dynet_like::nn::text {

/// A map from short strings to their replacements: a double-array trie in the format of Darts,
/// and replacements that end in zero bytes.
class Charsmap {
 public:
  /// From "precompiled_charsmap" of a tokenizer.json, which is in base64. Throws UsageError.
  explicit Charsmap(std::string_view base64);

  /// Replaces characters, or groups of them that are shown as one, if these have fewer than 6
  /// bytes.
  void normalise(AlignedText& aligned) const;

 private:
  std::optional<std::string_view> find(std::string_view group) const;
  bool append_replacement(std::string_view group, std::vector<Replacement>& characters) const;

  std::vector<std::uint32_t> units_;
  std::string replacements_;
};

}  // namespace dynet_like::nn::text

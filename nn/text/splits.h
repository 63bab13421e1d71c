// Text that is split into words, before a model cuts these into pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "nn/text/aligned_text.h"

namespace dynet_like::nn::text {

/// A part of the text: a word, or a token that was found as a whole and is not split any more.
struct Split {
  std::size_t begin = 0, end = 0;
  std::optional<std::uint32_t> token;
};

struct Splits {
  AlignedText aligned;
  std::vector<Split> parts;

  std::string_view text(const Split& part) const {
    return std::string_view(aligned.text).substr(part.begin, part.end - part.begin);
  }
};

/// Bytes where a pattern matches.
struct Match {
  std::size_t begin = 0, end = 0;
};

/// Adds the matches in a text, in order; they do not overlap, but may be empty.
using Pattern = std::function<void(std::string_view, std::vector<Match>&)>;

/// The matches of each character for which a condition holds.
template <class F>
Pattern each_character(F condition) {
  return [condition](std::string_view text, std::vector<Match>& matches) {
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = at + character_bytes(text[at]);
      if (condition(character_at(text, at))) matches.push_back({at, end});
      at = end;
    }
  };
}

/// The matches of a string, which is not empty.
Pattern each_string(std::string string);

/// How a text is split at matches: they are dropped, or they are parts of their own, or belong to
/// the part before or behind them, or neighbours among them are one part.
enum class SplitBehaviour { removed, isolated, merged_with_previous, merged_with_next, contiguous };

/// Splits each part that is not a token. If inverted, the text between matches counts as matching.
void split(Splits& splits, const Pattern& pattern, SplitBehaviour behaviour, bool is_inverted);

/// Splits a text into words.
using PreTokenizer = std::function<void(Splits&)>;

}  // namespace dynet_like::nn::text

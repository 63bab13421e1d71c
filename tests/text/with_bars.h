// Matches of a pattern as text.
#pragma once

#include "nn/text/splits.h"

namespace dynet_like::nn::text {

/// The text with "|" in place of each match.
inline std::string with_bars(const Pattern& pattern, const std::string& text) {
  std::vector<Match> matches;
  pattern(text, matches);
  std::string result;
  std::size_t at = 0;
  for (const Match& match : matches) {
    result += text.substr(at, match.begin - at) + '|';
    at = match.end;
  }
  return result + text.substr(at);
}

}  // namespace dynet_like::nn::text

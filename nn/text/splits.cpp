// Splits parts at the matches of patterns.
#include "nn/text/splits.h"

#include <algorithm>
#include <utility>

namespace dynet_like::nn::text {

namespace {

/// A part of a text while it is split.
struct Piece {
  std::size_t begin, end;
  bool is_match;
};

/// Joins neighbours, as the behaviour says. Bytes of a text are in exactly one piece; a match may
/// be empty.
void join(std::vector<Piece>& pieces, SplitBehaviour behaviour) {
  const bool backwards = behaviour == SplitBehaviour::merged_with_next;
  if (backwards) std::reverse(pieces.begin(), pieces.end());
  std::size_t size = 0;
  bool after_match = false;
  for (const Piece piece : pieces) {
    const bool joins =
        size > 0 && (behaviour == SplitBehaviour::contiguous ? piece.is_match == after_match
                                                             : piece.is_match && !after_match);
    after_match = piece.is_match;
    if (joins) {
      Piece& last = pieces[size - 1];
      last = {std::min(last.begin, piece.begin), std::max(last.end, piece.end), false};
    } else {
      pieces[size++] = piece;
    }
  }
  pieces.resize(size);
  if (backwards) std::reverse(pieces.begin(), pieces.end());
}

}  // namespace

Pattern each_string(std::string string) {
  return [string = std::move(string)](std::string_view text, std::vector<Match>& matches) {
    for (std::size_t at = text.find(string); at != text.npos;) {
      matches.push_back({at, at + string.size()});
      at = text.find(string, at + string.size());
    }
  };
}

void split(Splits& splits, const Pattern& pattern, SplitBehaviour behaviour, bool is_inverted) {
  const bool removes = behaviour == SplitBehaviour::removed;
  const bool joins = !removes && behaviour != SplitBehaviour::isolated;
  std::vector<Split> parts;
  parts.reserve(splits.parts.size() * 2);
  std::vector<Match> matches;
  std::vector<Piece> pieces;
  for (const Split& part : splits.parts) {
    if (part.token) {
      parts.push_back(part);
      continue;
    }
    matches.clear();
    pieces.clear();
    pattern(splits.text(part), matches);
    std::size_t at = 0;
    const auto add = [&](std::size_t end, bool is_match) {
      if (is_match || end > at) pieces.push_back({at, end, is_match != is_inverted});
      at = end;
    };
    for (const Match& match : matches) {
      add(match.begin, false);
      add(match.end, true);
    }
    add(part.end - part.begin, false);
    if (joins) join(pieces, behaviour);
    for (const Piece& piece : pieces) {
      if (piece.begin == piece.end || (removes && piece.is_match)) continue;
      parts.push_back({part.begin + piece.begin, part.begin + piece.end, std::nullopt});
    }
  }
  splits.parts = std::move(parts);
}

}  // namespace dynet_like::nn::text

// Pairs of texts: parallel text, and the commands and actions of SCAN.
#pragma once

#include <string>
#include <vector>

#include "nn/data/text_lines.h"

namespace dynet_like::nn {

/// A sentence and its translation, a premise and a hypothesis, a question and an answer; with a
/// label or without. See tab_separated.h for files that have both texts, and labels, in one line.
struct TextPair {
  std::string first = {}, second = {}, label = {};

  bool operator==(const TextPair&) const = default;
};

/// Reads two files, whose lines correspond; lines may be empty. Throws FileError if a file is
/// missing, empty or too large, or has more lines than the other.
std::vector<TextPair> read_parallel_text(TextSource first, TextSource second,
                                         const TextLimits& limits = {});

/// Reads lines "IN: jump twice OUT: I_JUMP I_JUMP" (Lake and Baroni 2018, "Generalization without
/// Systematicity"). Neither part may be empty; blank lines are skipped. Throws FileError if the
/// file is missing, without lines, too large or malformed.
std::vector<TextPair> read_scan(TextSource source, const TextLimits& limits = {});

}  // namespace dynet_like::nn

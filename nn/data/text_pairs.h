// Pairs of texts: parallel text, and the commands and actions of SCAN.
#pragma once

#include <istream>
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
std::vector<TextPair> read_parallel_text(const std::string& first_path,
                                         const std::string& second_path,
                                         const TextLimits& limits = {});
/// The same for two streams; the files are their names in messages.
std::vector<TextPair> read_parallel_text(std::istream& first, const std::string& first_file,
                                         std::istream& second, const std::string& second_file,
                                         const TextLimits& limits = {});

/// Reads lines "IN: jump twice OUT: I_JUMP I_JUMP" (Lake and Baroni 2018, "Generalization without
/// Systematicity"). Neither part may be empty; blank lines are skipped. Throws FileError if the
/// file is missing, without lines, too large or malformed.
std::vector<TextPair> read_scan(const std::string& path, const TextLimits& limits = {});
std::vector<TextPair> read_scan(std::istream& stream, const std::string& file,
                                const TextLimits& limits = {});

}  // namespace dynet_like::nn

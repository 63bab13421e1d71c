// Plain text as a sequence of characters or words, for language models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/data/text_lines.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::nn {

/// The units of a text. The end of every line is a unit, too: "\n".
///   character  of UTF-8; a byte that is not part of one is a unit by itself
///   word       separated by spaces and tabs
enum class TextUnit { character, word };

/// The units of a line without its end, by default words.
std::vector<std::string> split_line(std::string_view line, TextUnit unit = TextUnit::word);

/// The number of characters, as defined above.
std::size_t count_characters(std::string_view text);

/// A text as the numbers of its units, with their vocabulary.
struct Text {
  Vocabulary vocabulary;  ///< not frozen, with counts
  std::vector<std::uint32_t> units;
};

/// Reads a text. If the last line has no end, one is added. Throws FileError for a file that is
/// missing or larger than a limit.
Text read_text(TextSource source, TextUnit unit, const TextLimits& limits = {});

/// Joins units to a text, with one space between words. Throws UsageError for numbers that are not
/// in the vocabulary.
std::string join_units(const Vocabulary& vocabulary, std::span<const std::uint32_t> units,
                       TextUnit unit = TextUnit::word);

}  // namespace dynet_like::nn

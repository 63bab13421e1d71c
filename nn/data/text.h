// Plain text as a sequence of characters or words, for language models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/data/text_lines.h"
#include "nn/data/vocabulary.h"

namespace dynet_like::nn {

/// What a text is a sequence of. The end of every line is a unit, too: "\n".
///   character  those of UTF-8; a byte that does not belong to one stands for itself
///   word       what spaces and tabs part
enum class TextUnit { character, word };

/// The units of a line, as views of it, without the end of the line.
std::vector<std::string_view> split_line(std::string_view line, TextUnit unit);

/// The number of characters, as defined above.
std::size_t count_characters(std::string_view text);

/// The units of a text as numbers, and which they are.
struct Text {
  Vocabulary vocabulary;  ///< not frozen, with counts
  std::vector<std::uint32_t> units;
};

/// Reads a text; a last line without an end gains one. Throws FileError for a file that is missing,
/// or past a limit.
Text read_text(const std::string& path, TextUnit unit, const TextLimits& limits = {});
/// The same from a stream; `file` is its name in messages.
Text read_text(std::istream& stream, const std::string& file, TextUnit unit,
               const TextLimits& limits = {});

/// The text again: words have one space between them. Throws UsageError for numbers that are not
/// in the vocabulary.
std::string join_units(const Vocabulary& vocabulary, std::span<const std::uint32_t> units,
                       TextUnit unit);

}  // namespace dynet_like::nn

// Cuts lines into units, and joins units.
#include "nn/data/text.h"

#include <algorithm>

namespace dynet_like::nn {

namespace {

constexpr std::string_view kLineEnd = "\n";

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// The size of the first character of a text that is not empty.
std::size_t character_bytes(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t bytes = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (first >= 0xF8 || bytes > text.size()) return 1;
  const std::string_view rest = text.substr(1, bytes - 1);
  return std::all_of(rest.begin(), rest.end(), continues_character) ? bytes : 1;
}

}  // namespace

std::vector<std::string> split_line(std::string_view line, TextUnit unit) {
  std::vector<std::string> units;
  while (!line.empty()) {
    std::size_t skipped = 0, bytes = 0;
    if (unit == TextUnit::character) {
      bytes = character_bytes(line);
    } else {
      skipped = std::min(line.find_first_not_of(" \t"), line.size());
      bytes = std::min(line.find_first_of(" \t", skipped), line.size()) - skipped;
    }
    if (bytes > 0) units.emplace_back(line.substr(skipped, bytes));
    line.remove_prefix(skipped + bytes);
  }
  return units;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(character_bytes(text));
  return count;
}

Text read_text(TextSource source, TextUnit unit, const TextLimits& limits) {
  Text text;
  LineReader lines(std::move(source), limits);
  while (const auto line = lines.next()) {
    for (const std::string& word : split_line(line->text, unit)) {
      text.units.push_back(text.vocabulary.add(word));
    }
    text.units.push_back(text.vocabulary.add(kLineEnd));
  }
  return text;
}

std::string join_units(const Vocabulary& vocabulary, std::span<const std::uint32_t> units,
                       TextUnit unit) {
  std::string text;
  for (const std::uint32_t id : units) {
    const std::string& word = vocabulary.word(id);
    const bool is_inside_line = word != kLineEnd && !text.empty() && !text.ends_with(kLineEnd);
    if (unit == TextUnit::word && is_inside_line) text += ' ';
    text += word;
  }
  return text;
}

}  // namespace dynet_like::nn

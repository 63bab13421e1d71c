// Converts text to the numbers of its units, for one model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/data/text.h"

namespace dynet_like::examples {

struct Encoding {
  nn::TextUnit unit = nn::TextUnit::character;
  nn::Vocabulary vocabulary;  ///< includes an unknown unit

  /// The units of the beginning of a line, after the end of the line before. Never empty.
  std::vector<std::uint32_t> beginning(std::string_view text) const {
    std::vector<std::uint32_t> numbers{vocabulary.id("\n")};
    for (const std::string& word : nn::split_line(text, unit)) {
      numbers.push_back(vocabulary.id(word));
    }
    return numbers;
  }
  /// The units of a whole line with its end, after the end of the line before.
  std::vector<std::uint32_t> line(std::string_view text) const {
    std::vector<std::uint32_t> numbers = beginning(text);
    numbers.push_back(vocabulary.id("\n"));
    return numbers;
  }
  /// Converts numbers back to text.
  std::string text(std::span<const std::uint32_t> numbers) const {
    return nn::join_units(vocabulary, numbers, unit);
  }
};

}  // namespace dynet_like::examples

// The data of the language model: a text, whose last tenth is held out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/random.h"
#include "nn/data/text.h"

namespace dynet_like::examples {

/// Converts text to the numbers of its units, for one model.
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

struct Task {
  Encoding encoding;  ///< units that are rare in the training part are unknown
  std::vector<std::uint32_t> units;
  std::size_t train_size = 0;  ///< number of units: nine tenths
  std::size_t train_characters = 0, held_out_characters = 0;
  double least_nats = 0;  ///< per character of generated text: no model can do better

  std::span<const std::uint32_t> train() const { return std::span(units).first(train_size); }
  /// The held-out units, after the last unit of the training part, from which the first is
  /// predicted.
  std::span<const std::uint32_t> held_out() const {
    return std::span(units).subspan(train_size - 1);
  }
  std::size_t held_out_size() const { return units.size() - train_size; }
};

struct GrammarText {
  std::string text;  ///< one sentence per line
  double nats = 0;   ///< -ln of its probability; except by luck, no model can do better
};

/// Sentences such as "the old dog that the cats see sleeps". A verb has the number of its subject,
/// however far away that is. No sentence can be derived in two ways.
GrammarText grammar_text(unsigned sentences, Random& random);

/// Such sentences.
Task generated_task(unsigned sentences, std::uint64_t seed, nn::TextUnit unit, unsigned min_count);

/// Splits a text. Throws FileError, with `file` as its name, if it has fewer than 20 units.
Task make_task(const nn::Text& text, const std::string& file, nn::TextUnit unit,
               unsigned min_count);

}  // namespace dynet_like::examples

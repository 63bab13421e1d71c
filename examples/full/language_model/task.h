// The data of the language model: a text, whose last tenth is held out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/full/language_model/encoding.h"

namespace dynet_like::examples {

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

/// Sentences of a small grammar.
Task generated_task(unsigned sentences, std::uint64_t seed, nn::TextUnit unit, unsigned min_count);

/// Splits a text. Throws FileError, with `file` as its name, if it has fewer than 20 units.
Task make_task(const nn::Text& text, const std::string& file, nn::TextUnit unit,
               unsigned min_count);

}  // namespace dynet_like::examples

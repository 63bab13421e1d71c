// What the language model learns and is tested on: a text, of which the last tenth is held out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "examples/language_model/encoding.h"
#include "examples/language_model/options.h"

namespace dynet_like::examples {

struct Task {
  Encoding encoding;  ///< what is rare in the training part is unknown
  std::vector<std::uint32_t> units;
  std::size_t train_size = 0;  ///< in units: nine tenths
  std::size_t train_characters = 0, held_out_characters = 0;
  std::string description;  ///< what was read or generated, for people
  std::string fingerprint;  ///< of the text: others have another one

  std::span<const std::uint32_t> train() const { return std::span(units).first(train_size); }
  /// After the last unit of the training part, from which its first one is predicted.
  std::span<const std::uint32_t> held_out() const {
    return std::span(units).subspan(train_size - 1);
  }
  std::size_t held_out_size() const { return units.size() - train_size; }
};

/// Reads the file, or generates sentences. Throws FileError for a file of no use.
Task load_task(const Options& options);

/// The same for a text that was read already. Throws FileError, with `file` as its name, if it has
/// fewer than 20 units.
Task make_task(const nn::Text& text, const std::string& file, nn::TextUnit unit,
               unsigned min_count);

}  // namespace dynet_like::examples

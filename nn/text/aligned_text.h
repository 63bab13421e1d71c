// Text that was changed, with the place in the original text of each of its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/text/characters.h"

namespace dynet_like::nn::text {

/// Bytes of the original text.
struct Place {
  std::uint32_t begin = 0, end = 0;
};

/// Throws UsageError if a text is too large. Normalizers of a hostile file may repeat a text.
void check_size(std::size_t bytes);

/// Text in valid UTF-8, and for each byte the place of its character in the original text.
struct AlignedText {
  std::string text;
  std::vector<Place> places;

  void reserve(std::size_t bytes) {
    text.reserve(bytes);
    places.reserve(bytes);
  }
  void append(char32_t code, Place place) {
    places.resize(places.size() + append_character(code, text), place);
  }
  void append(std::string_view more, Place place) {
    text.append(more);
    places.resize(text.size(), place);
  }
  /// Appends bytes of another text.
  void append(const AlignedText& other, std::size_t begin, std::size_t end) {
    text.append(other.text, begin, end - begin);
    places.insert(places.end(), other.places.begin() + static_cast<std::ptrdiff_t>(begin),
                  other.places.begin() + static_cast<std::ptrdiff_t>(end));
  }
};

/// Bytes of an original text, unchanged.
AlignedText aligned(std::string_view text, std::size_t begin, std::size_t end);

/// A character of a new text. It replaces the next character of the old text, and `removed` more
/// behind it; or it is inserted behind the last replaced one.
struct Replacement {
  char32_t code = 0;
  bool is_inserted = false;
  std::uint32_t removed = 0;
};

/// Makes a new text. A character gets the place of the first one that it replaces; an inserted one
/// gets the place of the one before it.
void replace(AlignedText& aligned, std::span<const Replacement> characters);

/// Changes a text before it is split.
using Normalizer = std::function<void(AlignedText&)>;

}  // namespace dynet_like::nn::text

// Characters of UTF-8 text, and their properties in Unicode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace dynet_like::nn::text {

/// The bytes of the character that begins with this byte of valid UTF-8.
inline std::size_t character_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

/// The code point at a byte of valid UTF-8, where a character begins.
inline char32_t character_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return static_cast<char32_t>(static_cast<unsigned char>(text[at + i]));
  };
  const auto more = [&](std::size_t i) { return byte(i) & 0x3F; };
  switch (character_bytes(text[at])) {
    case 1:
      return byte(0);
    case 2:
      return (byte(0) & 0x1F) << 6 | more(1);
    case 3:
      return (byte(0) & 0x0F) << 12 | more(1) << 6 | more(2);
    default:
      return (byte(0) & 0x07) << 18 | more(1) << 12 | more(2) << 6 | more(3);
  }
}

/// The byte where the character before a byte begins, which is not the first one.
inline std::size_t character_before(std::string_view text, std::size_t at) {
  do {
    --at;
  } while (at > 0 && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80);
  return at;
}

/// Appends a character, and returns its bytes.
inline std::size_t append_character(char32_t code, std::string& text) {
  const auto add = [&](char32_t byte) { text += static_cast<char>(byte); };
  const auto more = [&](int shift) { add(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return add(code), 1;
  if (code < 0x800) return add(0xC0 | code >> 6), more(0), 2;
  if (code < 0x10000) return add(0xE0 | code >> 12), more(6), more(0), 3;
  return add(0xF0 | code >> 18), more(12), more(6), more(0), 4;
}

inline bool is_ascii(std::string_view text) {
  unsigned char all = 0;
  for (const char c : text) all |= static_cast<unsigned char>(c);
  return all < 0x80;
}

/// White_Space.
inline bool is_space(char32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) ||
         code == 0x2028 || code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_letter(char32_t code);              ///< the categories L
bool is_number(char32_t code);              ///< the categories N: digits, Roman numerals, fractions
bool is_mark(char32_t code);                ///< the categories M: accents and vowel signs
bool is_mark_without_width(char32_t code);  ///< Mn
bool is_punctuation(char32_t code);  ///< the categories P, and ASCII's other signs such as "$"
bool is_control(char32_t code);      ///< Cc, Cf and Co, except tabs and line ends
/// What regular expressions call \w: letters, marks, decimal digits, "_" and its like.
bool is_word(char32_t code);
/// Ideographs of Chinese, as BERT defines them.
bool is_ideograph(char32_t code);

/// The text without white space at its ends, or at one of them. It must be valid UTF-8.
std::string_view without_spaces(std::string_view text, bool left = true, bool right = true);

/// The small letter; of U+0130 only its first character, the "i" before U+0307.
char32_t small_letter(char32_t code);

}  // namespace dynet_like::nn::text

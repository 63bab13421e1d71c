// Unicode's properties of characters: normal forms, lower case, letters, digits, spaces.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace dynet_like::examples {

/// Converts a text from UTF-8 to code points, and back. Throws UsageError for invalid UTF-8.
std::u32string to_characters(std::string_view text);
std::string to_text(std::u32string_view characters);

/// Reads a file that scripts/nagisa_model.sh writes. A line is the name of a property, a tab, and
/// code points in hexadecimal.
class Characters {
 public:
  /// Throws FileError.
  explicit Characters(const std::string& path);

  /// The normal form NFKC: compatibility characters replaced, marks in order, then composed
  /// (Unicode Standard Annex #15).
  std::u32string normalized(const std::u32string& text) const;
  /// Converts characters one by one, so their number stays the same.
  std::u32string lower(std::u32string text) const;
  bool is_space(char32_t c) const { return has(c, kSpace); }
  bool is_letter_or_digit(char32_t c) const { return has(c, kLetterOrDigit); }

 private:
  enum Flag : std::uint8_t {
    kDecomposes = 1,
    kMark = 2,     ///< its combining class is not 0
    kFollows = 4,  ///< the second character of a pair that composes
    kUpper = 8,
    kSpace = 16,
    kLetterOrDigit = 32
  };

  bool has(char32_t c, unsigned flags) const { return c < flags_.size() && (flags_[c] & flags); }
  unsigned class_of(char32_t c) const { return has(c, kMark) ? classes_.at(c) : 0; }
  void add(std::string_view property, const std::vector<char32_t>& characters);
  std::u32string decomposed(const std::u32string& text) const;
  std::u32string composed(const std::u32string& text) const;

  std::vector<std::uint8_t> flags_;  ///< by code point
  std::unordered_map<char32_t, std::u32string> decompositions_;
  std::unordered_map<char32_t, unsigned> classes_;
  std::unordered_map<char32_t, char32_t> lower_;
  std::map<std::pair<char32_t, char32_t>, char32_t> compositions_;
};

}  // namespace dynet_like::examples

// Text from files that nobody vouches for: encodings and numbers; text and indices in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dynet_like::detail {

/// The float that the whole text stands for: decimal with an optional sign, "inf" or "nan", as
/// printf writes them. Nothing for any other text, blanks included, and beyond float's range;
/// what is too small for a float is rounded like any other number.
std::optional<float> parse_float(std::string_view text);

/// Whether it is UTF-8 as of RFC 3629: nothing but shortest forms, no surrogates.
bool is_utf8(std::string_view text);

/// The bytes of the character that begins a text in such UTF-8, and its number; of none 0.
struct Utf8Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};
Utf8Character first_character(std::string_view text);

/// Any text as a message or a report may show it: control characters, those that turn the direction
/// of text or end a line, and bytes that are not UTF-8 become \xNN. Shown again it stays as it is.
std::string visible_text(std::string_view text);

/// What some programs write in front of a text in UTF-8.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The bytes of kByteOrderMark where a file begins with it, or none: readers skip them. Throws
/// FileError for the mark of UTF-16 or UTF-32.
std::size_t byte_order_mark_bytes(std::string_view beginning, const std::string& file);

/// Text from a file as a message may show it: visible, quoted, not too long.
std::string quoted_text(std::string_view text);

/// Names in quotes as a message may list them: the first `most`, and how many more there are.
std::string listed_names(std::span<const std::string> names, std::size_t most);

/// An index in a message: also the negative number that it was, perhaps, before it became unsigned.
std::string index_text(std::uint64_t index);

}  // namespace dynet_like::detail

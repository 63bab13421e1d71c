// Text from untrusted files: encodings and numbers; text and indices in messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dynet_like::detail {

/// The float that the whole text denotes: decimal with an optional sign, "inf" or "nan", as printf
/// writes them. Empty for any other text, for text with blanks, and for numbers beyond float's
/// range. A number that is too small for a float is rounded like any other.
std::optional<float> parse_float(std::string_view text);

/// Whether the text is UTF-8 as defined by RFC 3629: shortest forms only, no surrogates.
bool is_utf8(std::string_view text);

/// The first character of a UTF-8 text: its bytes (0 if there is none) and its code point.
struct Utf8Character {
  std::size_t bytes = 0;
  std::uint32_t code = 0;
};
Utf8Character first_character(std::string_view text);

/// Makes any text safe to show in a message or a report: control characters, marks of text
/// direction, line separators, and bytes that are not UTF-8 become \xNN. Applying it twice changes
/// nothing.
std::string visible_text(std::string_view text);

/// The mark that some programs write before a UTF-8 text.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The size of kByteOrderMark if a file begins with it, else 0: readers skip as many bytes. Throws
/// FileError for the mark of UTF-16 or UTF-32.
std::size_t byte_order_mark_bytes(std::string_view beginning, const std::string& file);

/// Text from a file for a message: visible, quoted and shortened.
std::string quoted_text(std::string_view text);

/// Quoted names for a message: the first `most`, and how many more there are.
std::string listed_names(std::span<const std::string> names, std::size_t most);

/// An index for a message, with the negative number from which it was perhaps converted.
std::string index_text(std::uint64_t index);

}  // namespace dynet_like::detail

// Numbers by std::from_chars, which ignores the locale; UTF-8 and other encodings; quoted text.
#include "dynet_like/core/text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include "dynet_like/core/errors.h"

namespace dynet_like::detail {

namespace {

constexpr std::size_t kQuotedBytes = 40;

// Whether a terminal acts on a character instead of showing it: control characters (C0, C1), line
// and paragraph separators, and marks of text direction.
bool is_obeyed(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7F && code < 0xA0) || (code >= 0x2028 && code <= 0x202E) ||
         (code >= 0x2066 && code <= 0x2069) || code == 0x061C || code == 0x200E || code == 0x200F;
}

}  // namespace

std::optional<float> parse_float(std::string_view text) {
  // from_chars does not accept a plus sign; "+-1" stays wrong.
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  float value = 0;
  auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) {  // too large, or rounds to zero
    double wide = 0;
    result = std::from_chars(text.data(), end, wide);
    if (std::abs(wide) > 1) return std::nullopt;
    value = static_cast<float>(wide);
  }
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

Utf8Character first_character(std::string_view text) {
  if (text.empty()) return {};
  const auto first = static_cast<unsigned char>(text.front());
  const int ones = std::countl_one(first);  // 0 for ASCII, else the character's bytes
  const std::size_t size = ones == 0 ? 1 : static_cast<std::size_t>(ones);
  if (ones == 1 || ones > 4 || size > text.size()) return {};
  std::uint32_t code = first & (0xFFu >> (ones + 1));
  for (const char c : text.substr(1, size - 1)) {
    if ((c & 0xC0) != 0x80) return {};
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3Fu);
  }
  constexpr std::uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kLeast[size - 1] || code > 0x10FFFF || is_surrogate) return {};
  return {size, code};
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = first_character(text).bytes;
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

std::string visible_text(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const auto [bytes, code] = first_character(text);
    const std::size_t size = std::max(bytes, std::size_t{1});
    const bool is_shown = bytes != 0 && !is_obeyed(code);
    for (const char c : text.substr(0, size)) {
      const auto byte = static_cast<unsigned char>(c);
      if (is_shown) {
        result += c;
      } else {
        result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
      }
    }
    text.remove_prefix(size);
  }
  return result;
}

std::size_t byte_order_mark_bytes(std::string_view beginning, const std::string& file) {
  using namespace std::string_view_literals;
  constexpr std::pair<std::string_view, const char*> kOthers[] = {// UTF-32's mark begins with
                                                                  // UTF-16's
                                                                  {"\xFF\xFE\0\0"sv, "UTF-32"},
                                                                  {"\0\0\xFE\xFF"sv, "UTF-32"},
                                                                  {"\xFF\xFE"sv, "UTF-16"},
                                                                  {"\xFE\xFF"sv, "UTF-16"}};
  for (const auto& [mark, encoding] : kOthers) {
    if (!beginning.starts_with(mark)) continue;
    throw FileError(file, std::string("need text in UTF-8; got the byte order mark of ") +
                              encoding + ": convert it, such as with iconv -f " + encoding +
                              " -t UTF-8");
  }
  return beginning.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
}

std::string quoted_text(std::string_view text) {
  std::size_t end = 0;  // at the end of a character
  while (end < std::min(text.size(), kQuotedBytes)) {
    end += std::max(first_character(text.substr(end)).bytes, std::size_t{1});
  }
  return '"' + visible_text(text.substr(0, end)) + (end < text.size() ? "...\"" : "\"");
}

std::string listed_names(std::span<const std::string> names, std::size_t most) {
  std::string result;
  for (const std::string& name : names.first(std::min(most, names.size()))) {
    result += (result.empty() ? "\"" : ", \"") + name + '"';
  }
  if (names.size() <= most) return result;
  return result + " and " + std::to_string(names.size() - most) + " more";
}

std::string index_text(std::uint64_t index) {
  const auto number = index >> 32 == 0 ? std::int64_t{static_cast<std::int32_t>(index)}
                                       : static_cast<std::int64_t>(index);
  const std::string text = std::to_string(index);
  return number < 0 ? text + ", which is " + std::to_string(number) + " without its sign" : text;
}

}  // namespace dynet_like::detail

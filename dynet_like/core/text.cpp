// Numbers by std::from_chars, which knows no locale, and quoted text.
#include "dynet_like/core/text.h"

#include <charconv>
#include <cmath>
#include <cstddef>
#include <system_error>

namespace dynet_like {

namespace {

constexpr std::size_t kQuotedBytes = 40;

}  // namespace

std::optional<float> parse_float(std::string_view text) {
  // from_chars knows no plus sign; "+-1" stays wrong.
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  float value = 0;
  auto result = std::from_chars(text.data(), end, value);
  if (result.ec == std::errc::result_out_of_range) {  // too large, or so small that it is zero
    double wide = 0;
    result = std::from_chars(text.data(), end, wide);
    if (std::abs(wide) > 1) return std::nullopt;
    value = static_cast<float>(wide);
  }
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return value;
}

std::string quoted_text(std::string_view text) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string result = "\"";
  for (const char c : text.substr(0, kQuotedBytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7F) {
      result += c;
    } else {
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return result + (text.size() > kQuotedBytes ? "...\"" : "\"");
}

}  // namespace dynet_like

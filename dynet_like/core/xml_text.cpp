// xml_text: character by character.
#include "dynet_like/core/xml_text.h"

#include "dynet_like/core/text.h"

namespace dynet_like::detail {

namespace {

// The length of the first character if it is UTF-8 and XML 1.0 allows it, else 0.
std::size_t character_length(std::string_view text) {
  const auto [bytes, code] = first_character(text);
  const bool is_control = code < 0x20 && code != '\t' && code != '\n' && code != '\r';
  return is_control || code == 0xFFFE || code == 0xFFFF ? 0 : bytes;
}

}  // namespace

std::string xml_text(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    switch (text.front()) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += length == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

}  // namespace dynet_like::detail

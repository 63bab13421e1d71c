// Fuzzes regular expressions: an expression up to a zero byte, which may be refused, and a text,
// which may need too many steps. Matches must be characters of the text, one behind the other.
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/text.h"
#include "nn/text/regex.h"
#include "tests/fuzz/fuzz.h"

void dynet_like::fuzz::run(const std::string& all) {
  const std::string_view input = all;
  const std::size_t end = input.find('\0');
  const std::string_view text = end == input.npos ? "" : input.substr(end + 1);
  if (!detail::is_utf8(text)) return;
  const auto begins_character = [&](std::size_t at) {
    return at == text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80;
  };
  try {
    std::vector<nn::text::Match> matches;
    nn::text::each_regex(std::string(input.substr(0, end)))(text, matches);
    std::size_t last = 0;
    for (const nn::text::Match& match : matches) {
      require(last <= match.begin && match.begin <= match.end && match.end <= text.size());
      require(begins_character(match.begin) && begins_character(match.end));
      last = match.end;
    }
  } catch (const UsageError&) {  // refused
  }
}

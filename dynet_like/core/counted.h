// A number and its noun in a message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dynet_like::detail {

/// "1 integer", "2 integers"; "1 vertex", "2 vertices" where the plural is given.
inline std::string counted(std::uint64_t count, std::string_view noun,
                           std::string_view plural = {}) {
  std::string text = std::to_string(count) + ' ';
  text += count == 1 || plural.empty() ? noun : plural;
  if (count != 1 && plural.empty()) text += 's';
  return text;
}

}  // namespace dynet_like::detail

// A number and its noun in a message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace dynet_like::detail {

/// "integer" for one, "integers" for others; "vertex", "vertices" where the plural is given.
inline std::string noun_for(std::uint64_t count, std::string_view noun,
                            std::string_view plural = {}) {
  if (count == 1) return std::string(noun);
  return plural.empty() ? std::string(noun) + 's' : std::string(plural);
}

/// "1 integer", "2 integers", "2 vertices".
inline std::string counted(std::uint64_t count, std::string_view noun,
                           std::string_view plural = {}) {
  return std::to_string(count) + ' ' + noun_for(count, noun, plural);
}

}  // namespace dynet_like::detail

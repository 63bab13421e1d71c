// Suggestions for messages: existing names that resemble a mistyped one.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::detail {

/// The names that become `name` with the fewest letters added, dropped or changed (Levenshtein
/// 1966), the nearest first, formatted for a message. Empty if there are no names. Because names
/// may come from a hostile file, it reads only the first 10,000 names and 100 letters of each.
std::string nearest_names(std::string_view name, std::span<const std::string_view> names,
                          std::size_t most = 3);

/// The end of a message, ", the nearest are ..."; empty if there are no names.
std::string nearest_names_text(std::string_view name, std::span<const std::string_view> names);
/// The same for the keys of a map.
template <class Map>
std::string nearest_keys_text(std::string_view key, const Map& map) {
  std::vector<std::string_view> keys;
  for (const auto& item : map) keys.push_back(item.first);
  return nearest_names_text(key, keys);
}

}  // namespace dynet_like::detail

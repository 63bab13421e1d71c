// Names for messages: those that a mistyped one was meant to be, perhaps.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::detail {

/// The names that take the fewest letters added, dropped or changed to become `name` (Levenshtein
/// 1966), the nearest first, as a message lists them; empty where there are none to choose from.
/// Of names from a hostile file it looks at the first 10,000, and at 100 letters of each.
std::string nearest_names(std::string_view name, std::span<const std::string_view> names,
                          std::size_t most = 3);

/// ", the nearest are ..." to end a message with; empty where there are none.
std::string nearest_names_text(std::string_view name, std::span<const std::string_view> names);
/// The same for the keys of a map.
template <class Map>
std::string nearest_keys_text(std::string_view key, const Map& map) {
  std::vector<std::string_view> keys;
  for (const auto& item : map) keys.push_back(item.first);
  return nearest_names_text(key, keys);
}

}  // namespace dynet_like::detail

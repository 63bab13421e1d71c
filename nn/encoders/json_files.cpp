// JSON files: their size and depth, and the index of shards.
#include "nn/encoders/json_files.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/input_file.h"

namespace dynet_like::nn::encoders {

using dynet_like::detail::counted;

std::string read_text(const std::string& path, const char* user) {
  return dynet_like::detail::read_text(path, user, std::uint64_t{1} << 26);
}

void check_json(std::string_view text, const std::string& file, const char* user) {
  constexpr int kMostDepth = 16;
  const auto check = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    if (depth <= kMostDepth) return true;
    throw FileError(file, fmt::format("[{}] need JSON of at most {}; got more", user,
                                      counted(kMostDepth, "level")));
  };
  try {
    if (nlohmann::json::parse(text, check).is_object()) return;
  } catch (const nlohmann::json::exception& error) {
    throw FileError(file, fmt::format("[{}] need JSON; got an error: {}", user, error.what()));
  }
  throw FileError(file, fmt::format("[{}] need a JSON object; got another value", user));
}

std::set<std::string> shard_names(std::string_view json, const std::string& file) {
  check_json(json, file, "load_encoder");
  const auto index = nlohmann::json::parse(json);
  const auto map = index.find("weight_map");
  if (map == index.end() || !map->is_object() || map->empty()) {
    throw FileError(file,
                    "[load_encoder] need an object weight_map with the file of every tensor; "
                    "got none");
  }
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map->items()) {
    const std::string name = shard.is_string() ? shard.get<std::string>() : "";
    const bool is_plain = name.find_first_of("/\\:") == std::string::npos && !name.starts_with('.');
    if (name.empty() || !is_plain || !name.ends_with(".safetensors")) {
      throw FileError(file,
                      "[load_encoder] need a file of this folder that ends with .safetensors "
                      "for " +
                          tensor + "; got \"" + name + "\"");
    }
    names.insert(name);
  }
  return names;
}

}  // namespace dynet_like::nn::encoders

// The index of a model in several files: "weight_map" has the file of every tensor.
#include "nn/encoders/shards.h"

#include <nlohmann/json.hpp>

#include "dynet_like/core/errors.h"
#include "nn/encoders/json_text.h"

namespace dynet_like::nn::encoders {

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
    const bool is_plain = name.find_first_of("/\\:") == std::string::npos && name.front() != '.';
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

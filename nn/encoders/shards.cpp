// The names of shards.
#include "nn/encoders/shards.h"

#include "nn/text/json_entry.h"

namespace dynet_like::nn::encoders {

std::set<std::string> shard_names(std::string_view json, const std::string& file) {
  std::set<std::string> names;
  const JsonEntry map = JsonEntry::parse(json, file).at("weight_map");
  map.each_member([&](const std::string&, const JsonEntry& shard) {
    const std::string& name = shard.text();
    const bool is_plain = name.find_first_of("/\\:") == std::string::npos && !name.starts_with('.');
    if (!is_plain || !name.ends_with(".safetensors")) {
      shard.need("a file of this folder that ends with .safetensors");
    }
    names.insert(name);
  });
  if (names.empty()) map.fail("need the file of every tensor; got none");
  return names;
}

}  // namespace dynet_like::nn::encoders

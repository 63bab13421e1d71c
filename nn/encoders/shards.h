// The index of an encoder's shards, which may be hostile.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace dynet_like::nn::encoders {

/// The files that a model.safetensors.index.json lists. Throws FileError if it is malformed, and
/// for names of files in other folders.
std::set<std::string> shard_names(std::string_view json, const std::string& file);

}  // namespace dynet_like::nn::encoders

// The JSON files beside a model, which may be hostile.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace dynet_like::nn::encoders {

/// The contents of a file of at most 64 MiB. Throws FileError if it cannot be read. `user` begins
/// messages.
std::string read_text(const std::string& path, const char* user);

/// Throws FileError unless the text is one JSON object, nested at most 16 levels deep.
void check_json(std::string_view text, const std::string& file, const char* user);

/// The files that a model.safetensors.index.json lists. Throws FileError if it is malformed, and
/// for names of files in other folders.
std::set<std::string> shard_names(std::string_view json, const std::string& file);

}  // namespace dynet_like::nn::encoders

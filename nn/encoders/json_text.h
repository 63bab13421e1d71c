// Checks of the JSON files beside a model, which may be hostile.
#pragma once

#include <string>
#include <string_view>

namespace dynet_like::nn::encoders {

/// The contents of a file of at most 64 MiB. Throws FileError if it cannot be read. `user` begins
/// messages.
std::string read_text(const std::string& path, const char* user);

/// Throws FileError unless the text is one JSON object, nested at most 16 levels deep.
void check_json(std::string_view text, const std::string& file, const char* user);

}  // namespace dynet_like::nn::encoders

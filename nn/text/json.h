// JSON files, which may be hostile.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace dynet_like::nn::text {

/// Parses a file whose depth and number of values are bounded. Throws FileError.
nlohmann::json parse_json(std::string_view text, const std::string& file);

}  // namespace dynet_like::nn::text

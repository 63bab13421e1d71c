// The results of a run as a JSON file, for programs to read.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace dynet_like::examples {

/// Throws FileError if a file could not be written there: better before hours of training than
/// after. Nothing is written yet. An empty path is right: it means no file.
void check_writable(const std::string& path);

/// Writes one JSON object, whole or not at all; nothing for an empty path. Throws FileError.
void write_report(const std::string& path, const nlohmann::json& results);

}  // namespace dynet_like::examples

// Pages and sources of this project, for tests that read them.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace dynet_like {

/// The whole file. Throws if it is missing or empty.
inline std::string source_text(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  if (text.str().empty()) throw std::runtime_error("need " + file.string());
  return text.str();
}

}  // namespace dynet_like

// Pages and sources of this project, for tests that read them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace dynet_like {

/// The folder of the project.
inline std::filesystem::path source_root() {
  const char* const root =
      std::getenv("DYNET_LIKE_SOURCE_DIR");  // which tests/support/main.cpp sets
  return root != nullptr ? root : ".";
}

/// The whole file, whose path may begin at the project's folder. Throws if it is missing or empty.
inline std::string source_text(const std::filesystem::path& file) {
  std::ostringstream text;
  text << std::ifstream(source_root() / file).rdbuf();
  if (text.str().empty()) throw std::runtime_error("need " + file.string());
  return text.str();
}

/// All places where a text, which must live on, has a pattern.
inline std::vector<std::smatch> matches(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  return {std::sregex_iterator(text.begin(), text.end(), regex), {}};
}

/// What the first group of the pattern matches at all of them.
inline std::vector<std::string> first_groups(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  for (const std::smatch& each : matches(text, pattern)) found.push_back(each[1]);
  return found;
}

}  // namespace dynet_like

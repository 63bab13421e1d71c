// The classes that headers declare, for tests that must know all of them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "tests/support/source_text.h"

namespace dynet_like {

/// C++ code without comments, preprocessor directives, and the contents of strings.
inline std::string code_of(const std::string& text) {
  static const std::regex rest(
      R"re(//[^\n]*|/\*[^*]*\*+([^/*][^*]*\*+)*/|"(\\.|[^"\\\n])*"|(^|\n)[ ]*#[^\n]*)re");
  return std::regex_replace(text, rest, "\n");
}

/// The names of classes, but not of structs, that have a body, directly in one of these namespaces;
/// "a::b" for b in a.
inline std::set<std::string> classes_in(const std::string& text,
                                        const std::set<std::string>& namespaces) {
  static const std::regex word(R"([A-Za-z_][A-Za-z_0-9]*|::|[{};:<>(),=]|\S)");
  std::set<std::string> found;
  std::vector<std::string> open;   // names of open namespaces; "{" for any other open brace
  std::vector<std::string> since;  // words after the last brace or semicolon
  const auto path = [&] {
    std::string joined;
    for (const std::string& name : open) joined += (joined.empty() ? "" : "::") + name;
    return joined;
  };
  const auto open_brace = [&] {
    std::string name = "{";
    for (std::size_t i = 0; i < since.size(); ++i) {
      if (since[i] == "namespace") {
        name.clear();
        for (std::size_t k = i + 1; k < since.size(); ++k) name += since[k];
      }
      if (since[i] != "class" || i + 1 >= since.size() || (i > 0 && since[i - 1] == "enum"))
        continue;
      const std::string next = i + 2 < since.size() ? since[i + 2] : "{";
      const bool is_declared = next == "{" || next == ":" || next == "final" || next == "<";
      if (is_declared && namespaces.contains(path())) {
        found.insert(since[i + 1]);
      }
    }
    open.push_back(name);
  };
  const std::string code = code_of(text);
  for (std::sregex_iterator each(code.begin(), code.end(), word), end; each != end; ++each) {
    const std::string token = each->str();
    if (token == "{") open_brace();
    if (token == "}" && !open.empty()) open.pop_back();
    if (token == "{" || token == "}" || token == ";") {
      since.clear();
    } else {
      since.push_back(token);
    }
  }
  return found;
}

/// The classes of the public headers in folders of the project.
inline std::set<std::string> declared_classes(const std::vector<std::string>& folders,
                                              const std::set<std::string>& namespaces) {
  const std::filesystem::path root = std::getenv("DYNET_LIKE_SOURCE_DIR");
  static const std::regex own("dynet_like/(device/(cpu|cuda)|serve/http)/.*");
  std::set<std::string> all;
  for (const std::string& folder : folders) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root / folder)) {
      const std::string path = entry.path().lexically_relative(root).generic_string();
      if (entry.path().extension() != ".h" || std::regex_match(path, own)) continue;
      all.merge(classes_in(source_text(entry.path()), namespaces));
    }
  }
  return all;
}

}  // namespace dynet_like

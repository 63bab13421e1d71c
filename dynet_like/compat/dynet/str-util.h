// DyNet's str-util.h: beginnings of strings.
#pragma once

#include <string>

namespace dynet {

inline bool startswith(const std::string& text, const std::string& beginning) {
  return text.starts_with(beginning);
}

}  // namespace dynet

// DyNet's str-util.h: tests how a string begins.
#pragma once

#include <string>

namespace dynet {

inline bool startswith(const std::string& text, const std::string& beginning) {
  return text.starts_with(beginning);
}

}  // namespace dynet

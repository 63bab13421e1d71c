// What all fuzz targets share: the input as text, what holds, and what may be refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "dynet_like/core/errors.h"

namespace dynet_like::fuzz {

/// Each target defines what it does with an input.
void run(const std::string& input);

inline void require(bool holds) {
  if (!holds) std::abort();
}

/// Calls f, which may refuse the file "fuzz". Anything else that is thrown is a finding.
template <class F>
void may_refuse(const F& f) {
  try {
    f();
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
  }
}

}  // namespace dynet_like::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dynet_like::fuzz::run(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

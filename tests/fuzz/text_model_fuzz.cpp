// Fuzzes the reader of text models: what it reads in full must be consistent, and the same objects
// must be found where their numbers are skipped.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <sstream>
#include <string>

#include "dynet_like/core/errors.h"
#include "dynet_like/io/text_model_file.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

dynet_like::detail::TextModelReader reader_of(const std::string& text) {
  return {std::make_unique<std::istringstream>(text), "fuzz"};
}

// The headers of all objects, or nothing if the text is refused.
std::string headers(const std::string& text, bool skip) {
  std::string result;
  try {
    dynet_like::detail::TextModelReader reader = reader_of(text);
    while (reader.next()) {
      const dynet_like::detail::TextModelHeader& header = reader.header();
      require(2 * std::size_t{header.dim.size()} <= text.size());
      result += header.name + to_string(header.dim) + (header.is_table ? " t" : " p") +
                (header.has_gradient ? "g " : " ") + std::to_string(reader.line()) + "\n";
      if (skip) continue;
      const dynet_like::detail::TextModelEntry entry = reader.read();
      require(entry.values.size() == header.dim.size());
      require(entry.gradient.size() == (header.has_gradient ? header.dim.size() : 0));
      require(entry.dim == header.dim && entry.name == header.name);
    }
    return result;
  } catch (const dynet_like::FileError& error) {
    const bool is_other_text =
        std::string(error.what()).find("byte order mark") != std::string::npos;
    require(error.file() == "fuzz" && (error.line() > 0 || is_other_text));
    return "";
  }
}

void check(const std::string& text) {
  const std::string read = headers(text, false);
  const std::string skipped = headers(text, true);
  require(read.empty() || read == skipped);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  // Once more as the numbers of an object, whose size a fuzzer would seldom guess.
  for (const char* gradient : {" ZERO_GRAD\n", " FULL_GRAD\n"}) {
    check("#LookupParameter# /words {2,2} " + std::to_string(size) + gradient + text);
  }
  return 0;
}

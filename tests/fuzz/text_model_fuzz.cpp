// Fuzzes the reader of text models: what it reads in full must be consistent, and the same objects
// must be found where their numbers are skipped.
#include <memory>
#include <sstream>
#include <string>

#include "dynet_like/io/text_model_file.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

detail::TextModelReader reader_of(const std::string& text) {
  return {std::make_unique<std::istringstream>(text), "fuzz"};
}

// The headers of all objects, or nothing if the text is refused.
std::string headers(const std::string& text, bool skip) {
  std::string result;
  try {
    detail::TextModelReader reader = reader_of(text);
    while (reader.next()) {
      const detail::TextModelHeader& header = reader.header();
      require(2 * std::size_t{header.dim.size()} <= text.size());
      result += header.name + to_string(header.dim) + (header.is_table ? " t" : " p") +
                (header.has_gradient ? "g " : " ") + std::to_string(reader.line()) + "\n";
      if (skip) continue;
      const detail::TextModelEntry entry = reader.read();
      require(entry.values.size() == header.dim.size());
      require(entry.gradient.size() == (header.has_gradient ? header.dim.size() : 0));
      require(entry.dim == header.dim && entry.name == header.name);
    }
    return result;
  } catch (const FileError& error) {
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

void run(const std::string& text) {
  check(text);
  // Once more as the numbers of an object, whose size a fuzzer would seldom guess.
  for (const char* gradient : {" ZERO_GRAD\n", " FULL_GRAD\n"}) {
    check("#LookupParameter# /words {2,2} " + std::to_string(text.size()) + gradient + text);
  }
}

}  // namespace dynet_like::fuzz

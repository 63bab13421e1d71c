// Fuzzes the reader of plain text: what it reads must come back, and be read again as the same.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "dynet_like/core/errors.h"
#include "nn/data/text.h"

namespace {

using namespace dynet_like::nn;

void require(bool holds) {
  if (!holds) std::abort();
}

Text read(const std::string& text, TextUnit unit) {
  std::istringstream stream(text);
  // Narrow limits, so that short inputs reach them.
  return read_text(stream, "fuzz", unit, {.max_line_bytes = 1000, .max_file_bytes = 3000});
}

const std::string kMark = "\xEF\xBB\xBF";

void check(const std::string& file, TextUnit unit) {
  const Text read_once = read(file, unit);
  const std::string text = file.starts_with(kMark) ? file.substr(kMark.size()) : file;
  const std::string joined = join_units(read_once.vocabulary, read_once.units, unit);
  if (unit == TextUnit::character) {
    require(count_characters(joined) == read_once.units.size());
    const bool is_plain = text.find('\r') == text.npos && (text.empty() || text.ends_with('\n'));
    if (is_plain) require(joined == text);
  }
  // A carriage return before the end of a line belongs to that end, in words as well.
  if (text.find('\r') != text.npos) return;
  // What begins like a mark is text behind one.
  require(read(kMark + joined, unit).units == read_once.units);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  for (const TextUnit unit : {TextUnit::character, TextUnit::word}) {
    try {
      check(text, unit);
    } catch (const dynet_like::FileError& error) {
      require(error.file() == "fuzz");
    }
  }
  return 0;
}

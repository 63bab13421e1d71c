// Fuzzes the reader of plain text: what it reads must come back, and be read again as the same.
#include <string>

#include "nn/data/text.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

using namespace nn;

Text read(const std::string& text, TextUnit unit) {
  // Narrow limits, so that short inputs reach them.
  return read_text(TextSource::of(text, "fuzz"), unit,
                   {.max_line_bytes = 1000, .max_file_bytes = 3000});
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

void run(const std::string& input) {
  for (const TextUnit unit : {TextUnit::character, TextUnit::word}) {
    may_refuse([&] { check(input, unit); });
  }
}

}  // namespace dynet_like::fuzz

// Fuzzes the reader of word classes: every word once, and paths that survive a round trip.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <sstream>
#include <string>

#include "dynet_like/compat/class_file.h"
#include "dynet_like/core/errors.h"

namespace {

using namespace dynet::detail;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_path(const std::string& path) {
  const std::vector<std::string> symbols = symbols_of(path);
  require(!symbols.empty());
  const bool is_bits = path.find_first_not_of("01") == path.npos;
  std::string joined;
  for (const std::string& symbol : symbols) {
    require(!symbol.empty() && symbol.find_first_of(" \t") == symbol.npos);
    joined += (joined.empty() || is_bits ? "" : " ") + symbol;
  }
  require(is_bits ? joined == path : symbols_of(joined) == symbols);
}

void check(const std::string& text, FirstField first, dynet::Dict& words) {
  std::istringstream stream(text);
  try {
    std::set<unsigned> known;
    for (const ClassedWord& line : read_class_file(stream, "fuzz", first, words, {200, 2000})) {
      require(known.insert(line.word).second && line.word < words.size() && line.line > 0);
      require(words.convert(static_cast<int>(line.word)).find_first_of(" \t\n") == text.npos);
      check_path(line.name);
    }
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  dynet::Dict names, paths;
  check(text, FirstField::name, names);
  check(text, FirstField::path, paths);
  names.freeze();
  names.set_unk("<unk>");
  check(text, FirstField::path, names);
  return 0;
}

// Fuzzes the reader of word classes: every word once, and paths that survive a round trip.
#include <set>
#include <string>
#include <vector>

#include "dynet_like/compat/class_file.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

using namespace dynet::detail;

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
  may_refuse([&] {
    std::set<unsigned> known;
    for (const ClassedWord& line :
         read_class_file(nn::TextSource::of(text, "fuzz"), first, words, {200, 2000})) {
      require(known.insert(line.word).second && line.word < words.size() && line.line > 0);
      require(words.convert(static_cast<int>(line.word)).find_first_of(" \t\n") == text.npos);
      check_path(line.name);
    }
  });
}

}  // namespace

void run(const std::string& input) {
  dynet::Dict names, paths;
  check(input, FirstField::name, names);
  check(input, FirstField::path, paths);
  names.freeze();
  names.set_unk("<unk>");
  check(input, FirstField::path, names);
}

}  // namespace dynet_like::fuzz

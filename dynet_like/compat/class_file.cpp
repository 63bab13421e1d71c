// Reads the classes of words.
#include "dynet_like/compat/class_file.h"

#include <algorithm>
#include <unordered_set>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"

namespace dynet::detail {

namespace {

using dynet_like::FileError;
using dynet_like::detail::quoted_text;

constexpr std::string_view kBlanks = " \t";

// Removes the first field of a text, and returns it.
std::string_view take_field(std::string_view& text, std::string_view blanks = kBlanks) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  std::string_view field = text.substr(0, text.find_first_of(blanks));
  text.remove_prefix(field.size());
  return field.substr(0, field.find_last_not_of(kBlanks) + 1);
}

}  // namespace

std::vector<ClassedWord> read_class_file(dynet_like::nn::TextSource source, FirstField first,
                                         Dict& words, const dynet_like::nn::TextLimits& limits) {
  dynet_like::nn::LineReader lines(std::move(source), limits);
  std::vector<ClassedWord> result;
  std::unordered_set<int> known;
  while (const auto line = lines.next()) {
    std::string_view rest = line->text;
    if (rest.find_first_not_of(kBlanks) == rest.npos) continue;
    const bool whole_path = first == FirstField::path && rest.find('\t') != rest.npos;
    const std::string_view name = take_field(rest, whole_path ? "\t" : kBlanks);
    const std::string word(take_field(rest));
    if (word.empty()) {
      line->fail("need a class and a word; got " + quoted_text(line->text));
    }
    if (words.is_frozen() && !words.contains(word)) {
      if (words.get_unk_id() >= 0) continue;
      line->fail("need a word of the frozen dictionary; got " + quoted_text(word));
    }
    const int id = words.convert(word);
    if (!known.insert(id).second) {
      line->fail("need each word once; got again " + quoted_text(word));
    }
    result.push_back({std::string(name), static_cast<unsigned>(id), line->number});
  }
  if (result.empty()) throw FileError(lines.name(), "need words of the dictionary; got none");
  return result;
}

std::vector<std::string> symbols_of(std::string_view path) {
  const bool is_bits = path.find_first_not_of("01") == path.npos;
  std::vector<std::string> symbols;
  if (is_bits) {
    for (const char bit : path) symbols.emplace_back(1, bit);
    return symbols;
  }
  while (true) {
    const std::string_view symbol = take_field(path);
    if (symbol.empty()) return symbols;
    symbols.emplace_back(symbol);
  }
}

}  // namespace dynet::detail

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

std::vector<ClassedWord> read_class_file(std::istream& stream, const std::string& file,
                                         FirstField first, Dict& words,
                                         const dynet_like::nn::TextLimits& limits) {
  dynet_like::nn::LineReader lines(stream, file, limits);
  std::vector<ClassedWord> result;
  std::unordered_set<int> known;
  for (std::string_view line; lines.next(line);) {
    if (line.find_first_not_of(kBlanks) == line.npos) continue;
    std::string_view rest = line;
    const bool whole_path = first == FirstField::path && line.find('\t') != line.npos;
    const std::string_view name = take_field(rest, whole_path ? "\t" : kBlanks);
    const std::string word(take_field(rest));
    if (word.empty()) {
      throw FileError(file, "need a class and a word; got " + quoted_text(line), lines.number());
    }
    if (words.is_frozen() && !words.contains(word)) {
      if (words.get_unk_id() >= 0) continue;
      throw FileError(file, "need a word of the frozen dictionary; got " + quoted_text(word),
                      lines.number());
    }
    const int id = words.convert(word);
    if (!known.insert(id).second) {
      throw FileError(file, "need each word once; got again " + quoted_text(word), lines.number());
    }
    result.push_back({std::string(name), static_cast<unsigned>(id), lines.number()});
  }
  if (result.empty()) throw FileError(file, "need words of the dictionary; got none");
  return result;
}

std::vector<ClassedWord> read_class_file(const std::string& path, FirstField first, Dict& words) {
  std::ifstream stream = dynet_like::nn::open_text(path, kClassFileLimits);
  return read_class_file(stream, path, first, words, kClassFileLimits);
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

// Files with the class of each word, for the builders of softmaxes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/dict.h"
#include "nn/data/text_lines.h"

namespace dynet::detail {

inline constexpr dynet_like::nn::TextLimits kClassFileLimits = {
    .max_line_bytes = std::size_t{1} << 16, .max_file_bytes = std::size_t{1} << 27};

/// The kind of a line's first field: a class, or a path; if a tab follows, spaces separate its
/// symbols.
enum class FirstField { name, path };

/// A line of the file.
struct ClassedWord {
  std::string name;
  unsigned word;
  std::size_t line;
};

/// Reads lines "class word"; the rest of a line is ignored, and blank lines are skipped. Adds the
/// words to the dictionary. If it is frozen, words that it converts to its unknown word are
/// skipped. Throws FileError for a malformed file, a file without words, a word that occurs twice,
/// and a word that a frozen dictionary cannot convert.
std::vector<ClassedWord> read_class_file(
    dynet_like::nn::TextSource source, FirstField first, Dict& words,
    const dynet_like::nn::TextLimits& limits = kClassFileLimits);

/// The symbols of a path: separated by spaces; or, of a string of bits, each bit.
std::vector<std::string> symbols_of(std::string_view path);

}  // namespace dynet::detail

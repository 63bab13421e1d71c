// Files that say which class a word is in, for the builders of softmaxes.
#pragma once

#include <cstddef>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "dynet/dict.h"
#include "nn/data/text_lines.h"

namespace dynet::detail {

inline constexpr dynet_like::nn::TextLimits kClassFileLimits = {
    .max_line_bytes = std::size_t{1} << 16, .max_file_bytes = std::size_t{1} << 27};

/// What the first field of a line is: a class, or symbols that spaces part if a tab follows.
enum class FirstField { name, path };

/// A line of the file.
struct ClassedWord {
  std::string name;
  unsigned word;
  std::size_t line;
};

/// Reads lines "class word" with anything behind them; blank lines are skipped. Words are added to
/// the dictionary; those that a frozen one takes for its unknown word are passed over. Throws
/// FileError for a malformed file, one without words, a word that comes twice, one that a frozen
/// dictionary cannot convert.
std::vector<ClassedWord> read_class_file(const std::string& path, FirstField first, Dict& words);
std::vector<ClassedWord> read_class_file(std::istream& stream, const std::string& file,
                                         FirstField first, Dict& words,
                                         const dynet_like::nn::TextLimits& limits);

/// The symbols of a path: what spaces part; of a string of bits, each bit.
std::vector<std::string> symbols_of(std::string_view path);

}  // namespace dynet::detail

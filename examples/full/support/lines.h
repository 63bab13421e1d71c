// Answers of a model to the lines of a stream.
#pragma once

#include <cstddef>
#include <functional>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "nn/data/text_lines.h"

namespace dynet_like::examples {

constexpr char kStandardInput[] = "standard input";

/// The text to write for some lines. The first has this number, counted from 1.
using AnswerLines =
    std::function<std::string(std::span<const std::string> lines, std::size_t first)>;

/// Reads up to `together` lines at a time, fewer if they are long, and writes their answers at
/// once. Throws FileError if a limit is exceeded, or if `in` cannot be read or `out` cannot be
/// written; messages name the standard streams.
void answer_lines(std::istream& in, std::ostream& out, std::size_t together,
                  const AnswerLines& answer,
                  const nn::TextLimits& limits = {.max_line_bytes = 1 << 16,
                                                  .max_file_bytes = ~std::size_t{0}});

/// How lines with nothing but spaces are treated.
enum class BlankLines { skip, label };

/// Writes a label, a tab and the line for every line of standard input. For several lines at a
/// time, calls label() with the results of parse(line, number). Returns exit status 0.
template <class Parse, class Label>
int label_lines(const Parse& parse, const Label& label, BlankLines blank = BlankLines::skip) {
  const auto is_used = [&](const std::string& line) {
    return blank == BlankLines::label || !nn::is_blank(line);
  };
  constexpr std::size_t kTogether = 256;
  answer_lines(std::cin, std::cout, kTogether, [&](const auto& lines, std::size_t number) {
    std::vector<decltype(parse(lines[0], number))> samples;
    for (const std::string& line : lines) {
      if (is_used(line)) samples.push_back(parse(line, number));
      ++number;
    }
    const auto labels = label(samples);
    std::string text;
    auto next = labels.begin();
    for (const std::string& line : lines) {
      if (is_used(line)) text += fmt::format("{}\t{}\n", *next++, line);
    }
    return text;
  });
  return 0;
}

}  // namespace dynet_like::examples

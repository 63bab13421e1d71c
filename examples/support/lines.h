// What a model says of the lines of a stream.
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <ostream>
#include <span>
#include <string>

#include "nn/data/text_lines.h"

namespace dynet_like::examples {

/// The text to write for some lines, of which the first has that number, counted from 1.
using AnswerLines =
    std::function<std::string(std::span<const std::string> lines, std::size_t first)>;

/// Reads so many lines at a time, fewer where they are long, and writes what is answered at once.
/// Throws FileError past a limit, and where `in` cannot be read or `out` cannot be written; their
/// names are those of the standard streams.
void answer_lines(std::istream& in, std::ostream& out, std::size_t together,
                  const AnswerLines& answer,
                  const nn::TextLimits& limits = {.max_line_bytes = 1 << 16,
                                                  .max_file_bytes = ~std::size_t{0}});

}  // namespace dynet_like::examples

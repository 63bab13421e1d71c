// Reads text files that may be malicious: lines under limits, and the tokens of bracketed text.
#pragma once

#include <cstddef>
#include <fstream>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/text.h"  // quoted_text, for all readers

namespace dynet_like::nn {

/// The most bytes that a reader accepts before it throws FileError.
struct TextLimits {
  std::size_t max_line_bytes = std::size_t{1} << 20;
  std::size_t max_file_bytes = std::size_t{1} << 28;
};

/// Opens a file. Throws FileError if it is missing, a directory, or larger than the limit.
std::ifstream open_text(const std::string& path, const TextLimits& limits);

/// Throws FileError if a line that is already in memory is longer than the limit.
void check_line_bytes(std::string_view line, const std::string& file, std::size_t line_number,
                      const TextLimits& limits);

/// The lines of a stream, one at a time, so that a malicious file costs no more than its limits.
/// Skips a byte order mark of UTF-8 at the beginning; refuses those of UTF-16 and UTF-32.
class LineReader {
 public:
  /// The stream must outlive the reader; `file` is its name in messages.
  LineReader(std::istream& stream, std::string file, const TextLimits& limits);

  /// Reads a line without its end ("\n" or "\r\n"). Returns false after the last line. The view is
  /// valid until the next call. Throws FileError if a limit is exceeded or the stream cannot be
  /// read.
  bool next(std::string_view& line);

  /// The number of the line that was read last, from 1.
  std::size_t number() const { return number_; }

 private:
  bool fill();

  std::istream& stream_;
  std::string file_;
  TextLimits limits_;
  std::vector<char> block_;
  std::size_t begin_ = 0, end_ = 0, file_bytes_ = 0, number_ = 0;
  std::string line_;
};

/// Whether a line has nothing but spaces.
inline bool is_blank(std::string_view line) { return line.find_first_not_of(' ') == line.npos; }

/// Splits bracketed text into "(", ")" and words. Only ASCII spaces and parentheses separate words:
/// tabs and no-break spaces belong to words.
class BracketTokens {
 public:
  explicit BracketTokens(std::string_view line, std::size_t position = 0)
      : line_(line), position_(position) {}

  /// The next token; empty at the end of the line.
  std::string_view next();
  /// Whether the next token is a bracket or the end, not a word.
  bool at_bracket_or_end();
  /// The column of the last token, or of the end of the line; in bytes, from 1.
  std::size_t column() const { return start_ + 1; }

 private:
  void skip_spaces();

  std::string_view line_;
  std::size_t position_, start_ = 0;
};

}  // namespace dynet_like::nn

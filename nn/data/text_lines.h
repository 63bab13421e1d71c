// Reads text files that may be malicious: lines under limits, and the tokens of bracketed text.
#pragma once

#include <concepts>
#include <cstddef>
#include <fstream>
#include <istream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"  // quoted_text, for all readers

namespace dynet_like::nn {

/// The most bytes that a reader accepts before it throws FileError.
struct TextLimits {
  std::size_t max_line_bytes = std::size_t{1} << 20;
  std::size_t max_file_bytes = std::size_t{1} << 28;
};

/// What a reader reads: the file with a path, or a stream or text with a name for messages.
class TextSource {
 public:
  template <std::convertible_to<std::string> Path>
  TextSource(const Path& path) : name_(path) {}
  /// The stream must outlive the reader.
  TextSource(std::istream& stream, std::string name);
  static TextSource of(std::string text, std::string name);

  const std::string& name() const { return name_; }
  bool is_file() const { return stream_ == nullptr; }
  /// The stream, or the file. Throws FileError if that is missing, a directory, or larger than the
  /// limit, and UsageError if the path is empty.
  std::istream& open(const TextLimits& limits);

 private:
  std::string name_;
  std::shared_ptr<std::istream> stream_;
};

/// Whether a line has nothing but spaces.
inline bool is_blank(std::string_view line) { return line.find_first_not_of(' ') == line.npos; }

/// A line without its end, and its place. The name of the file must outlive it.
struct TextLine {
  std::string_view text;
  const std::string& file;
  std::size_t number;

  /// Throws FileError for this line, and the column where `at`, a part of the text, begins.
  [[noreturn]] void fail(const std::string& what, std::string_view at = {}) const;
  /// Throws FileError if the text is longer than the limit.
  void check_bytes(const TextLimits& limits) const;
  bool is_blank() const { return nn::is_blank(text); }
  /// The texts between the tabs.
  std::vector<std::string_view> columns() const;
  /// The same; throws FileError unless there are `count` columns.
  std::vector<std::string_view> columns(std::size_t count) const;
  /// The texts between spaces and tabs; any number of these may be anywhere.
  std::vector<std::string_view> words() const;
};

/// The lines of a text, one at a time, so that a malicious file costs no more than its limits.
/// Skips a byte order mark of UTF-8 at the beginning; refuses those of UTF-16 and UTF-32.
class LineReader {
 public:
  /// Throws as TextSource::open() does.
  LineReader(TextSource source, const TextLimits& limits);

  /// Reads a line, which ends in "\n" or "\r\n", or at the end of the text. Returns nothing after
  /// the last line. The line is valid until the next call. Throws FileError if a limit is exceeded
  /// or the text cannot be read.
  std::optional<TextLine> next();
  /// The same for the next line that is not blank.
  std::optional<TextLine> next_filled();

  /// The number of the line that was read last, from 1.
  std::size_t number() const { return number_; }
  const std::string& name() const { return source_.name(); }

 private:
  bool fill();

  TextSource source_;
  TextLimits limits_;
  std::istream& stream_;
  std::vector<char> block_;
  std::size_t begin_ = 0, end_ = 0, file_bytes_ = 0, number_ = 0;
  std::string line_;
};

/// What parse(line) makes of every line that is not blank. Throws FileError if there is none; `one`
/// says what a line has: "tree".
template <class Parse>
auto parse_lines(TextSource source, const TextLimits& limits, const char* one, const Parse& parse) {
  LineReader lines(std::move(source), limits);
  std::vector<decltype(parse(*lines.next()))> all;
  while (const auto line = lines.next_filled()) all.push_back(parse(*line));
  if (all.empty()) {
    throw FileError(lines.name(), std::string("need at least one ") + one + "; got none");
  }
  return all;
}

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

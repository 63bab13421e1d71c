// DyNet's text files of parameters: object after object, a header and a line of numbers each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/dim.h"
#include "dynet_like/io/atomic_file.h"

namespace dynet_like::detail {

// The header line is
//   #Parameter# NAME {d1,d2,...} BYTES ZERO_GRAD
// or #LookupParameter# for a table, whose rows are the last dimension, and FULL_GRAD if a line of
// gradients follows the line of values. BYTES counts these lines with their ends. A number is
// what printf makes of "%+.8e ": nine digits, from which every float comes back.

/// What the header line of an object says.
struct TextModelHeader {
  bool is_table = false;
  std::string name;  ///< a path such as "/lstm/_0"
  Dim dim;           ///< of a table: with its rows as the last dimension
  bool has_gradient = false;
};

/// An object of a file with its numbers, in column-major order.
struct TextModelEntry {
  bool is_table = false;
  std::string name;
  Dim dim;
  std::vector<float> values;
  std::vector<float> gradient;  ///< empty for ZERO_GRAD
};

/// Walks a file object by object; numbers that nobody asks for are skipped unread. Every member
/// throws FileError, with the line, for what breaks the format. A minibatch dimension does.
class TextModelReader {
 public:
  explicit TextModelReader(const std::filesystem::path& path);
  /// The same for a stream that can seek; `file` is its name in messages.
  TextModelReader(std::unique_ptr<std::istream> stream, std::string file);
  ~TextModelReader();

  /// Goes to the next object; false at the end of the file.
  bool next();
  /// Of the present object.
  const TextModelHeader& header() const { return header_; }
  /// Reads the numbers of the present object; once, or UsageError is thrown.
  TextModelEntry read();

  const std::string& file() const { return file_; }
  /// The line of the present object's header, from 1; at the end of the file, the one behind it.
  std::size_t line() const { return line_; }

 private:
  [[noreturn]] void fail(const std::string& need, const std::string& got, std::size_t line,
                         std::size_t column = 0) const;
  void need(std::size_t bytes);
  std::uint64_t position() const { return block_position_ + begin_; }
  std::string_view ahead() const { return {block_.data() + begin_, end_ - begin_}; }
  void skip_numbers();
  void parse_header(std::string_view text);
  std::vector<float> read_line(std::size_t line);
  float read_number(std::size_t line, std::uint64_t line_position, std::size_t index);

  std::unique_ptr<std::istream> stream_;
  std::string file_;
  std::uint64_t file_size_ = 0;
  std::vector<char> block_;
  std::uint64_t block_position_ = 0;  // in the file
  std::size_t begin_ = 0, end_ = 0;   // of what is still ahead, in the block
  TextModelHeader header_;
  std::size_t line_ = 0, next_line_ = 1;
  std::uint64_t bytes_ = 0, numbers_end_ = 0;
  bool unread_ = false;
};

/// Writes such a file, which appears whole at commit() or not at all.
class TextModelWriter {
 public:
  /// With `append`, what the file holds already comes first; it must be such a file, or none.
  /// Throws FileError.
  explicit TextModelWriter(const std::filesystem::path& path, bool append = false);
  /// Throws UsageError unless the name is one word and the shape is one of a parameter, without a
  /// minibatch, and ShapeError unless there is one value, and one or no gradient, per element.
  void write(const TextModelEntry& entry);
  void commit() { file_.commit(); }

 private:
  void write_line(std::span<const float> numbers);

  AtomicFile file_;
  std::vector<char> block_;
};

}  // namespace dynet_like::detail

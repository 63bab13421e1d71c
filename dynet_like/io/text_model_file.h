// DyNet's text files of parameters: objects, each a header line and a line of numbers.
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
// gradients follows the line of values. BYTES is the size of these lines with their line ends.
// Numbers are printed with "%+.8e ": nine digits, which determine every float.

/// The contents of the header line of an object.
struct TextModelHeader {
  bool is_table = false;
  std::string name;  ///< a path such as "/lstm/_0"
  Dim dim;           ///< for a table, its rows are the last dimension
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

/// Walks through a file, object by object. Numbers that nobody reads are skipped. Every member
/// throws FileError with the line if the file breaks the format. A minibatch dimension is an error,
/// too.
class TextModelReader {
 public:
  explicit TextModelReader(const std::filesystem::path& path);
  /// The same for a seekable stream; `file` is its name in messages.
  TextModelReader(std::unique_ptr<std::istream> stream, std::string file);
  ~TextModelReader();

  /// Goes to the next object; false at the end of the file.
  bool next();
  /// The header of the current object.
  const TextModelHeader& header() const { return header_; }
  /// Reads the numbers of the current object. A second call throws UsageError.
  TextModelEntry read();

  const std::string& file() const { return file_; }
  /// The line of the current object's header, from 1; at the end of the file, the number of lines
  /// plus 1.
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
  std::size_t begin_ = 0, end_ = 0;   // the unread part of the block
  TextModelHeader header_;
  std::size_t line_ = 0, next_line_ = 1;
  std::uint64_t bytes_ = 0, numbers_end_ = 0;
  bool unread_ = false;
};

/// Writes such a file. It appears whole at commit(), or not at all.
class TextModelWriter {
 public:
  /// With `append`, the objects of the existing file come first; if it exists, it must be such a
  /// file. Throws FileError.
  explicit TextModelWriter(const std::filesystem::path& path, bool append = false);
  /// Throws UsageError unless the name is one word and the shape is one of a parameter, without a
  /// minibatch; ShapeError unless there is one value per element, and one gradient per element or
  /// none.
  void write(const TextModelEntry& entry);
  void commit() { file_.commit(); }

 private:
  void write_line(std::span<const float> numbers);

  AtomicFile file_;
  std::vector<char> block_;
};

}  // namespace dynet_like::detail

// The exceptions that the library throws; every message says what was needed and what was got.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace dynet_like {

// Messages may contain names, labels and text from files. Characters that would control a terminal,
// and bytes that are not UTF-8, are shown as \xNN.

/// Shapes or arguments of an operation that do not fit: "[op] need <rule>; got <values>".
struct ShapeError : std::invalid_argument {
  explicit ShapeError(const std::string& what);
};

/// An argument or a call that makes no sense.
struct UsageError : std::invalid_argument {
  explicit UsageError(const std::string& what);
};

/// A call that came too late or too early: an expression whose graph was cleared, a gradient
/// before the backward pass.
struct StateError : std::runtime_error {
  explicit StateError(const std::string& what);
};

/// A value or a gradient that is not finite, or a batch that differs from its nodes run one by one.
struct NumericError : std::runtime_error {
  explicit NumericError(const std::string& what);
};

/// A device that does not exist, or memory that the system does not have.
struct DeviceError : std::runtime_error {
  explicit DeviceError(const std::string& what);
};

/// A file that is missing or malformed. Lines and columns count from 1; 0 means not applicable.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& file, const std::string& what, std::size_t line = 0,
            std::size_t column = 0);

  const std::string& file() const { return file_; }
  std::size_t line() const { return line_; }
  std::size_t column() const { return column_; }

 private:
  std::string file_;
  std::size_t line_, column_;
};

}  // namespace dynet_like

// Exceptions. The message of a FileError is "file:line:column: what", which editors can follow.
#include "dynet_like/core/errors.h"

#include <fmt/format.h>

#include "dynet_like/core/text.h"

namespace dynet_like {

namespace {

std::string located(const std::string& file, std::size_t line, std::size_t column) {
  if (line == 0) return file;
  return column == 0 ? fmt::format("{}:{}", file, line)
                     : fmt::format("{}:{}:{}", file, line, column);
}

}  // namespace

ShapeError::ShapeError(const std::string& what)
    : std::invalid_argument(detail::visible_text(what)) {}
UsageError::UsageError(const std::string& what)
    : std::invalid_argument(detail::visible_text(what)) {}
StateError::StateError(const std::string& what) : std::runtime_error(detail::visible_text(what)) {}
NumericError::NumericError(const std::string& what)
    : std::runtime_error(detail::visible_text(what)) {}
DeviceError::DeviceError(const std::string& what)
    : std::runtime_error(detail::visible_text(what)) {}

FileError::FileError(const std::string& file, const std::string& what, std::size_t line,
                     std::size_t column)
    : std::runtime_error(
          detail::visible_text(fmt::format("{}: {}", located(file, line, column), what))),
      file_(file),
      line_(line),
      column_(column) {}

}  // namespace dynet_like

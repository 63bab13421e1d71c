// FileError's message: "file:line:column: what", the form that editors and terminals can follow.
#include "dynet_like/core/errors.h"

#include <fmt/format.h>

namespace dynet_like {

namespace {

std::string located(const std::string& file, std::size_t line, std::size_t column) {
  if (line == 0) return file;
  return column == 0 ? fmt::format("{}:{}", file, line)
                     : fmt::format("{}:{}:{}", file, line, column);
}

}  // namespace

FileError::FileError(const std::string& file, const std::string& what, std::size_t line,
                     std::size_t column)
    : std::runtime_error(fmt::format("{}: {}", located(file, line, column), what)),
      file_(file),
      line_(line),
      column_(column) {}

}  // namespace dynet_like

// FileError's message: "file:line:column: what", the form that editors and terminals can follow.
#include "dynet_like/core/errors.h"

namespace dynet_like {

namespace {

std::string located(const std::string& file, std::size_t line, std::size_t column) {
  std::string text = file;
  if (line != 0) text += ":" + std::to_string(line);
  if (line != 0 && column != 0) text += ":" + std::to_string(column);
  return text;
}

}  // namespace

FileError::FileError(const std::string& file, const std::string& what, std::size_t line,
                     std::size_t column)
    : std::runtime_error(located(file, line, column) + ": " + what),
      file_(file),
      line_(line),
      column_(column) {}

}  // namespace dynet_like

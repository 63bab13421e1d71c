// A line of a file, with tabs or spaces between its columns, and its place for messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::nn {

/// A line and its place. The name of the file must outlive it.
struct ColumnLine {
  std::string_view text;
  const std::string& file;
  std::size_t number;

  /// Throws FileError for this line, and the column where `at`, a part of the text, begins.
  [[noreturn]] void fail(const std::string& what, std::string_view at = {}) const;
  /// The texts between the tabs.
  std::vector<std::string_view> columns() const;
  /// The same; throws FileError unless there are `count` columns.
  std::vector<std::string_view> columns(std::size_t count) const;
  /// The texts between spaces and tabs; any number of these may be anywhere.
  std::vector<std::string_view> words() const;
};

}  // namespace dynet_like::nn

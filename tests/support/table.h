// Tables of tests as text.
#pragma once

#include <sstream>
#include <string>
#include <vector>

namespace dynet_like {

/// The cells of every line, which are between " | ". A line that begins with three blanks goes on
/// with the one before.
inline std::vector<std::vector<std::string>> rows_of(std::string table) {
  for (std::size_t at; (at = table.find("\n   ")) != table.npos;) table.erase(at, 4);
  std::vector<std::vector<std::string>> rows;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    auto& cells = rows.emplace_back();
    for (std::size_t begin = 0; begin != line.npos;) {
      const std::size_t end = line.find(" | ", begin);
      cells.push_back(line.substr(begin, end - begin));
      begin = end == line.npos ? end : end + 3;
    }
  }
  return rows;
}

}  // namespace dynet_like

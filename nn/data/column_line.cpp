// Splits lines at tabs; errors say where in the line.
#include "nn/data/column_line.h"

#include <algorithm>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

void ColumnLine::fail(const std::string& what, std::string_view at) const {
  const bool has_column = at.data() != nullptr;
  throw FileError(file, what, number,
                  has_column ? static_cast<std::size_t>(at.data() - text.data()) + 1 : 0);
}

std::vector<std::string_view> ColumnLine::columns() const {
  std::vector<std::string_view> result;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find('\t', begin), text.size());
    result.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return result;
}

std::vector<std::string_view> ColumnLine::words() const {
  constexpr std::string_view kBlanks = " \t";
  std::vector<std::string_view> result;
  for (std::size_t end = 0, begin; (begin = text.find_first_not_of(kBlanks, end)) != text.npos;) {
    end = std::min(text.find_first_of(kBlanks, begin), text.size());
    result.push_back(text.substr(begin, end - begin));
  }
  return result;
}

std::vector<std::string_view> ColumnLine::columns(std::size_t count) const {
  // Counts first, so that a line of nothing but tabs takes no memory.
  const auto tabs = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\t'));
  if (tabs + 1 != count) {
    fail("need " + detail::counted(count, "column") + " with tabs between them; got " +
         std::to_string(tabs + 1));
  }
  return columns();
}

}  // namespace dynet_like::nn

// Fuzzes the reader of tab-separated columns: what it accepts is a table that is read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/data/tab_separated.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

// The first byte is which columns are asked for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynet_like;
  if (size == 0) return 0;
  const bool by_name = data[0] % 2 == 1;
  const std::vector<nn::Column> columns =
      by_name ? std::vector<nn::Column>{"text", "label"} : std::vector<nn::Column>{1, 0};
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  // Narrow limits, so that short inputs reach them.
  nn::TabSeparatedOptions options{
      .has_header = data[0] % 4 == 2, .ragged = data[0] / 4 % 2 == 1, .limits = {1000, 3000}};
  try {
    const auto rows = nn::read_tab_separated(stream, "fuzz", columns, options);
    require(!rows.empty());
    std::string text = by_name ? "text\tlabel\n" : "x\ty\n";
    bool again_is_same = true;
    for (const std::vector<std::string>& row : rows) {
      require(row.size() == 2);
      text += row[0] + "\t" + row[1] + "\n";
      // In the last column it would be taken for a part of the end of the line.
      if (row[1].ends_with('\r')) again_is_same = false;
    }
    std::istringstream again(text);
    options = {.has_header = true};
    const auto same = nn::read_tab_separated(again, "again", {0, 1}, options);
    require(!again_is_same || same == rows);
  } catch (const FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}

// Fuzzes the reader of tab-separated columns: what it accepts is a table that is read again.
#include <string>
#include <vector>

#include "nn/data/tab_separated.h"
#include "tests/fuzz/fuzz.h"

// The first byte is which columns are asked for.
void dynet_like::fuzz::run(const std::string& input) {
  if (input.empty()) return;
  const auto choice = static_cast<unsigned char>(input[0]);
  const bool by_name = choice % 2 == 1;
  const std::vector<nn::Column> columns =
      by_name ? std::vector<nn::Column>{"text", "label"} : std::vector<nn::Column>{1, 0};
  // Narrow limits, so that short inputs reach them.
  const nn::TabSeparatedOptions options{
      .has_header = choice % 4 == 2, .ragged = choice / 4 % 2 == 1, .limits = {1000, 3000}};
  may_refuse([&] {
    const auto rows =
        nn::read_tab_separated(nn::TextSource::of(input.substr(1), "fuzz"), columns, options);
    require(!rows.empty());
    std::string text = "x\ty\n";
    bool again_is_same = true;
    for (const std::vector<std::string>& row : rows) {
      require(row.size() == 2);
      text += row[0] + "\t" + row[1] + "\n";
      // In the last column it would be taken for a part of the end of the line.
      if (row[1].ends_with('\r')) again_is_same = false;
    }
    const auto same =
        nn::read_tab_separated(nn::TextSource::of(text, "again"), {0, 1}, {.has_header = true});
    require(!again_is_same || same == rows);
  });
}

// Fuzzes the reader of ListOps: what it accepts must have a value and survive a round trip.
#include <string>

#include "nn/data/listops.h"
#include "tests/fuzz/fuzz.h"

void dynet_like::fuzz::run(const std::string& input) {
  if (input.empty()) return;
  // Narrow limits, so that short inputs reach them. The first byte decides about checking values,
  // for a fuzzer seldom guesses the value of an expression.
  const nn::ListOpsFileOptions options = {
      .check_values = input[0] % 2 == 0, .max_depth = 50, .limits = {1000, 3000}};
  nn::ListOpsFileOptions wide = options;
  wide.limits.max_line_bytes = 10'000;  // Brackets without spaces gain some when written.
  may_refuse([&] {
    for (const nn::Tree& tree :
         nn::read_listops(nn::TextSource::of(input.substr(1), "fuzz"), options)) {
      const std::int32_t value = evaluate_listops(tree);
      require(value >= 0 && value <= 9);
      require(!options.check_values || value == tree.label(tree.root()));
      require(tree.size() == 2 * tree.leaf_count() - 1 && tree.depth() <= 51);
      const std::string again =
          std::to_string(tree.label(tree.root())) + "\t" + nn::listops_string(tree);
      require(nn::parse_listops(again, "again", 1, wide) == tree);
    }
  });
}

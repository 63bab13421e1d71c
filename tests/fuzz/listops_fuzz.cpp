// Fuzzes the reader of ListOps: what it accepts must have a value and survive a round trip.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "dynet_like/core/errors.h"
#include "nn/data/listops.h"

namespace {

using dynet_like::nn::Tree;

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // Narrow limits, so that short inputs reach them. The first byte decides about checking values,
  // for a fuzzer seldom guesses the value of an expression.
  dynet_like::nn::ListOpsFileOptions options = {
      .check_values = data[0] % 2 == 0, .max_depth = 50, .limits = {1000, 3000}};
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data + 1), size - 1));
  try {
    for (const Tree& tree : dynet_like::nn::read_listops(stream, "fuzz", options)) {
      const std::int32_t value = evaluate_listops(tree);
      require(value >= 0 && value <= 9);
      require(!options.check_values || value == tree.label(tree.root()));
      require(tree.size() == 2 * tree.leaf_count() - 1 && tree.depth() <= 51);
      const std::string again =
          std::to_string(tree.label(tree.root())) + "\t" + dynet_like::nn::listops_string(tree);
      dynet_like::nn::ListOpsFileOptions wide = options;
      wide.limits.max_line_bytes = 10'000;  // Brackets without spaces gain some when written.
      require(dynet_like::nn::parse_listops(again, "again", 1, wide) == tree);
    }
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}

// Fuzzes the reader of sentiment trees: what it accepts must be a tree and survive a round trip.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "dynet_like/core/errors.h"
#include "nn/data/treebank.h"

namespace {

using dynet_like::nn::Tree;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_tree(const Tree& tree) {
  require(tree.size() == 2 * tree.leaf_count() - 1);
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    require(tree.label(node) >= 0 && tree.label(node) < 5);
    if (tree.is_leaf(node)) {
      require(!tree.word(node).empty());
    } else {
      require(tree.children(node).size() == 2 && tree.left(node) < tree.right(node));
      require(tree.children(node)[1] == tree.right(node) && tree.right(node) < node);
    }
  }
  require(tree.depth() <= 50);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Narrow limits, so that short inputs reach them.
  const dynet_like::nn::TreebankOptions options = {
      .label_count = 5, .max_depth = 50, .limits = {1000, 3000}};
  std::istringstream stream(std::string(reinterpret_cast<const char*>(data), size));
  try {
    for (const Tree& tree : dynet_like::nn::read_treebank(stream, "fuzz", options)) {
      check_tree(tree);
      dynet_like::nn::TreebankOptions wide = options;
      wide.limits.max_line_bytes = 10'000;  // Brackets without spaces gain some when written.
      require(dynet_like::nn::parse_tree(to_string(tree), "again", 1, wide) == tree);
    }
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz");
  }
  return 0;
}

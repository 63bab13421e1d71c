// Fuzzes the reader of sentiment trees: what it accepts must be a tree and survive a round trip.
#include <string>

#include "nn/data/treebank.h"
#include "tests/fuzz/fuzz.h"

namespace dynet_like::fuzz {

namespace {

using nn::Tree;

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

void run(const std::string& input) {
  // Narrow limits, so that short inputs reach them.
  const nn::TreebankOptions options = {.label_count = 5, .max_depth = 50, .limits = {1000, 3000}};
  nn::TreebankOptions wide = options;
  wide.limits.max_line_bytes = 10'000;  // Brackets without spaces gain some when written.
  may_refuse([&] {
    for (const Tree& tree : nn::read_treebank(nn::TextSource::of(input, "fuzz"), options)) {
      check_tree(tree);
      require(nn::parse_tree(to_string(tree), "again", 1, wide) == tree);
    }
  });
}

}  // namespace dynet_like::fuzz

// Fuzzes the reader of sentences in brackets without labels: what it accepts is a binary tree over
// the words, in order.
#include <string>
#include <vector>

#include "nn/data/bracketed_text.h"
#include "nn/data/text.h"
#include "tests/fuzz/fuzz.h"

void dynet_like::fuzz::run(const std::string& input) {
  using namespace nn;
  may_refuse([&] {
    const Tree tree = parse_bracketed_text(input, "fuzz", 7);
    std::vector<std::string> words;
    for (const std::string& word : split_line(input, TextUnit::word)) {
      if (word != "(" && word != ")") words.push_back(word);
    }
    require(tree.words() == words);
    require(tree.size() == 2 * tree.leaf_count() - 1);
    for (std::uint32_t node = 0; node < tree.size(); ++node) {
      require(tree.label(node) == Tree::kNoLabel);
      require(tree.is_leaf(node) || tree.children(node).size() == 2);
    }
  });
}

// Fuzzes the reader of sentences in brackets without labels: what it accepts is a binary tree over
// the words, in order.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "dynet_like/core/errors.h"
#include "nn/data/bracketed_text.h"
#include "nn/data/text.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynet_like::nn;
  const std::string text(reinterpret_cast<const char*>(data), size);
  try {
    const Tree tree = parse_bracketed_text(text, "fuzz", 7);
    std::vector<std::string> words;
    for (const std::string_view word : split_line(text, TextUnit::word)) {
      if (word != "(" && word != ")") words.emplace_back(word);
    }
    require(tree.words() == words);
    require(tree.size() == 2 * tree.leaf_count() - 1);
    for (std::uint32_t node = 0; node < tree.size(); ++node) {
      require(tree.label(node) == Tree::kNoLabel);
      require(tree.is_leaf(node) || tree.children(node).size() == 2);
    }
  } catch (const dynet_like::FileError& error) {
    require(error.file() == "fuzz" && error.line() == 7);
  }
  return 0;
}

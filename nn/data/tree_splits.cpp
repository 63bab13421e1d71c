// The words and sizes of trees.
#include "nn/data/tree_splits.h"

#include <string>

namespace dynet_like::nn {

Vocabulary vocabulary_of(std::span<const Tree> trees, std::uint64_t min_count,
                         WordNormalisation normalisation) {
  Vocabulary words(normalisation);
  words.set_unknown("<unk>");
  for (const Tree& tree : trees) {
    for (const std::string& word : tree.words()) words.add(word);
  }
  words = words.trimmed(min_count);
  words.freeze();
  return words;
}

std::vector<std::uint32_t> sizes_of(std::span<const Tree> trees) {
  std::vector<std::uint32_t> sizes;
  sizes.reserve(trees.size());
  for (const Tree& tree : trees) sizes.push_back(tree.size());
  return sizes;
}

}  // namespace dynet_like::nn

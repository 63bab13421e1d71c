// Synthetic data for benchmarks: the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/data/tree.h"

namespace dynet_like::bench {

/// A word sequence, and a tag per word.
struct Sentence {
  std::vector<unsigned> words, tags;
};

/// A binary tree in post-order: a leaf has a word, an inner node the numbers of its children; every
/// node has a label.
struct BinaryTree {
  static constexpr unsigned kNoChild = ~0u;
  struct Node {
    unsigned left = kNoChild, right = kNoChild, word = 0, label = 0;
    bool is_leaf() const { return left == kNoChild; }
  };
  std::vector<Node> nodes;
};

struct DataOptions {
  unsigned vocabulary = 10000, labels = 5;
  std::uint64_t seed = 1;
};

/// 2,048 trees of 5 to 40 leaves, 18 in the mean (a triangular law); every split of a phrase is
/// equally likely. Words follow Zipf's law: the one of rank r is drawn with weight 1 / r.
std::vector<BinaryTree> make_trees(const DataOptions& options);

/// 2,048 sentences of 3 to 80 words, 25 in the mean; words as above, labels uniform.
std::vector<Sentence> make_sentences(const DataOptions& options);

}  // namespace dynet_like::bench

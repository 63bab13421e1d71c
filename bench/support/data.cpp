// Drawing of synthetic trees and sentences.
#include "bench/support/data.h"

#include <algorithm>
#include <cmath>

#include "dynet_like/core/random.h"

namespace dynet_like::bench {

namespace {

constexpr unsigned kInstances = 2048;

class Zipf {
 public:
  explicit Zipf(unsigned words) : cumulated_(words) {
    double sum = 0;
    for (unsigned rank = 0; rank < words; ++rank) cumulated_[rank] = sum += 1.0 / (rank + 1);
  }
  unsigned draw(Random& random) const {
    const double at = random.uniform() * cumulated_.back();
    const auto found = std::upper_bound(cumulated_.begin(), cumulated_.end(), at);
    return static_cast<unsigned>(std::min(found, cumulated_.end() - 1) - cumulated_.begin());
  }

 private:
  std::vector<double> cumulated_;
};

// From the triangular law on [low, high] with this mean (Kotz and van Dorp 2004).
unsigned triangular(Random& random, double low, double high, double mean) {
  const double mode = 3 * mean - low - high;
  const double u = random.uniform(), split = (mode - low) / (high - low);
  const double x = u < split ? low + std::sqrt(u * (high - low) * (mode - low))
                             : high - std::sqrt((1 - u) * (high - low) * (high - mode));
  return static_cast<unsigned>(std::lround(x));
}

unsigned add_phrase(BinaryTree& tree, unsigned leaves, const Zipf& words, unsigned labels,
                    Random& random) {
  BinaryTree::Node node;
  if (leaves == 1) {
    node.word = words.draw(random);
  } else {
    const unsigned left = 1 + random.below(leaves - 1);
    node.left = add_phrase(tree, left, words, labels, random);
    node.right = add_phrase(tree, leaves - left, words, labels, random);
  }
  node.label = random.below(labels);
  tree.nodes.push_back(node);
  return static_cast<unsigned>(tree.nodes.size() - 1);
}

}  // namespace

std::vector<BinaryTree> make_trees(const DataOptions& options) {
  Random random(options.seed);
  const Zipf words(options.vocabulary);
  std::vector<BinaryTree> trees(kInstances);
  for (BinaryTree& tree : trees) {
    add_phrase(tree, triangular(random, 5, 40, 18), words, options.labels, random);
  }
  return trees;
}

std::vector<Sentence> make_sentences(const DataOptions& options) {
  Random random(options.seed);
  const Zipf words(options.vocabulary);
  std::vector<Sentence> sentences(kInstances);
  for (Sentence& sentence : sentences) {
    // The mean of a triangular law on [3, 80] is at least 28.7: half of the sentences are short.
    const bool is_short = random.below(2) == 0;
    const unsigned length =
        is_short ? triangular(random, 3, 26, 14) : triangular(random, 16, 80, 36);
    for (unsigned i = 0; i < length; ++i) {
      sentence.words.push_back(words.draw(random));
      sentence.tags.push_back(random.below(options.labels));
    }
  }
  return sentences;
}

}  // namespace dynet_like::bench

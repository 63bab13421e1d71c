// Draws synthetic trees, sentences, spellings, lattices and networks.
#include "bench/support/data.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "dynet_like/core/random.h"

namespace dynet_like::bench {

namespace {

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

// Draws from the triangular law on [low, high] with this mean (Kotz and van Dorp 2004).
unsigned triangular(Random& random, double low, double high, double mean) {
  const double mode = 3 * mean - low - high;
  if (mode < low || mode > high) throw std::invalid_argument("no triangular law has this mean");
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
  if (!real_files().trees.empty()) return read_trees(real_files().trees, options);
  Random random(options.seed);
  const Zipf words(options.vocabulary);
  std::vector<BinaryTree> trees(kInstances);
  for (BinaryTree& tree : trees) {
    add_phrase(tree, triangular(random, 5, 40, 18), words, options.labels, random);
  }
  return trees;
}

std::vector<Sentence> make_sentences(const DataOptions& options) {
  if (!real_files().sentences.empty()) return read_sentences(real_files().sentences, options);
  Random random(options.seed);
  const Zipf words(options.vocabulary);
  std::vector<Sentence> sentences(kInstances);
  for (Sentence& sentence : sentences) {
    // A triangular law on [3, 80] has a mean of at least 28.7, so half of the sentences are short.
    const bool is_short = random.below(2) == 0;
    const unsigned length =
        is_short ? triangular(random, 3, 26, 14) : triangular(random, 14, 80, 36);
    for (unsigned i = 0; i < length; ++i) {
      sentence.words.push_back(words.draw(random));
      sentence.tags.push_back(random.below(options.labels));
    }
  }
  return sentences;
}

std::vector<std::vector<unsigned>> make_spellings(const DataOptions& options) {
  Random random(options.seed, 1ull << 40);  // far from the random numbers of the sentences
  const Zipf characters(kCharacters);
  std::vector<std::vector<unsigned>> spellings(options.vocabulary);
  for (std::vector<unsigned>& spelling : spellings) {
    const unsigned length = triangular(random, 1, 14, 6);
    for (unsigned i = 0; i < length; ++i) spelling.push_back(characters.draw(random));
  }
  return spellings;
}

std::vector<unsigned> count_words(const std::vector<Sentence>& sentences, unsigned vocabulary) {
  std::vector<unsigned> counts(vocabulary);
  for (const Sentence& sentence : sentences) {
    for (unsigned word : sentence.words) ++counts[word];
  }
  return counts;
}

std::vector<Lattice> make_lattices(const DataOptions& options) {
  Random random(options.seed);
  const Zipf words(options.vocabulary);
  std::vector<Lattice> lattices(kInstances);
  for (Lattice& lattice : lattices) {
    const unsigned length = triangular(random, 8, 60, 30);
    for (unsigned end = 1; end <= length; ++end) {
      lattice.arcs.push_back({end - 1, end, words.draw(random)});
      for (unsigned span = 2; span <= std::min(end, 4u); ++span) {
        if (random.below(4) > 0) continue;
        lattice.arcs.push_back({end - span, end, words.draw(random)});
      }
      lattice.tags.push_back(random.below(options.labels));
    }
  }
  return lattices;
}

std::vector<RandomDag> make_dags(const DataOptions& options) {
  using Kind = RandomDag::Kind;
  Random random(options.seed);
  const Zipf words(options.vocabulary);
  std::vector<RandomDag> dags(kInstances);
  for (RandomDag& dag : dags) {
    const unsigned size = triangular(random, 16, 64, 36);
    for (unsigned v = 0; v < size; ++v) {
      RandomDag::Node node;
      if (v < 2 || random.below(10) < 3) {
        node.a = words.draw(random);
      } else {
        constexpr Kind kKinds[] = {Kind::combine, Kind::gate, Kind::gru};
        const unsigned reach = std::min(v, 8u), first = random.below(reach);
        const unsigned second = random.below(reach - 1);
        node.kind = kKinds[random.below(3)];
        node.a = v - 1 - first;
        node.b = v - 1 - (second < first ? second : second + 1);
        dag.nodes[node.a].is_sink = dag.nodes[node.b].is_sink = false;
      }
      node.label = random.below(options.labels);
      dag.nodes.push_back(node);
    }
  }
  return dags;
}

}  // namespace dynet_like::bench

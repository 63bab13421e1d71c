// Data for benchmarks: synthetic, the same on every machine, or real data in their place.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/support/program.h"

namespace dynet_like::bench {

constexpr unsigned kInstances = 2048;  ///< in a data set

/// A word sequence, and a tag per word.
struct Sentence {
  std::vector<unsigned> words, tags;
};

/// A binary tree in post-order. A leaf has a word, an inner node the numbers of its children; every
/// node has a label. The last node is the root.
struct BinaryTree {
  static constexpr unsigned kNoChild = ~0u;
  struct Node {
    unsigned left = kNoChild, right = kNoChild, word = 0, label = 0;
    bool is_leaf() const { return left == kNoChild; }
  };
  std::vector<Node> nodes;
};

/// Words over the characters of a sentence. An arc reads a word from position `begin` to a later
/// position `end`. Positions are 0 to tags.size(). Arcs are sorted by their end, and at least one
/// ends at every position except 0. tags[i] is the label of position i + 1.
struct Lattice {
  struct Arc {
    unsigned begin, end, word;
  };
  std::vector<Arc> arcs;
  std::vector<unsigned> tags;
};

/// A network of random shape: a node reads a word, or two different earlier nodes.
struct RandomDag {
  enum class Kind { word, combine, gate, gru };
  struct Node {
    Kind kind = Kind::word;
    unsigned a = 0, b = 0;  ///< the nodes that it reads; for a word, a is the word
    bool is_sink = true;    ///< no node reads it, so it has a loss
    unsigned label = 0;
  };
  std::vector<Node> nodes;
};

/// Words follow Zipf's law: the word of rank r, from 1, is drawn with weight 1 / r and has the
/// number r - 1. Labels are uniform.
struct DataOptions {
  unsigned vocabulary = 10000, labels = 5;
  std::uint64_t seed = 1;
};

/// 2,048 trees of 5 to 40 leaves, 18 on average (a triangular law). All splits of a phrase have the
/// same probability. From a file, if real_files() has one.
std::vector<BinaryTree> make_trees(const DataOptions& options);

/// 2,048 sentences of 3 to 80 words, 25 on average (two triangular laws, one for the short half).
/// From a file, if real_files() has one.
std::vector<Sentence> make_sentences(const DataOptions& options);

/// The characters of every word, as numbers below 60: 1 to 14 of them, 6 on average, drawn by
/// Zipf's law.
constexpr unsigned kCharacters = 60;
std::vector<std::vector<unsigned>> make_spellings(const DataOptions& options);

/// How often each word occurs.
std::vector<unsigned> count_words(const std::vector<Sentence>& sentences, unsigned vocabulary);

/// 2,048 lattices over 8 to 60 characters, 30 on average: an arc over every character, and one over
/// every 2, 3 or 4 characters with probability 1/4 each.
std::vector<Lattice> make_lattices(const DataOptions& options);

/// 2,048 networks of 16 to 64 nodes, 36 on average. Three of ten nodes are words. The others read
/// two of the last 8 nodes; combine, gate and GRU are equally frequent.
std::vector<RandomDag> make_dags(const DataOptions& options);

/// Files that make_trees() and make_sentences() take their instances from; if empty, they draw
/// them.
struct RealFiles {
  std::string trees;      ///< in the format of the Stanford Sentiment Treebank
  std::string sentences;  ///< CoNLL-U
};
RealFiles& real_files();

/// Adds --trees and --sentences, which set real_files().
void add_real_files(Options& options);

/// As many instances of a file as are drawn otherwise, in random order, or all if there are fewer.
/// Sentences of one word are left out. The number of a word is its
/// rank by frequency in the file, and so is that of a tag; numbers that the options do not allow
/// are replaced by the largest that they allow. Labels of trees are those of the file. Throws
/// FileError.
std::vector<BinaryTree> read_trees(const std::string& file, const DataOptions& options);
std::vector<Sentence> read_sentences(const std::string& file, const DataOptions& options);

}  // namespace dynet_like::bench

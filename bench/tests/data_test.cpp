// The synthetic data: sizes, means, laws, and that everything depends on the seed alone.
#include "bench/support/data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "bench/models/workload.h"

namespace dynet_like::bench {
namespace {

std::size_t leaf_count(const BinaryTree& tree) {
  const auto is_leaf = [](const BinaryTree::Node& node) { return node.is_leaf(); };
  return static_cast<std::size_t>(std::count_if(tree.nodes.begin(), tree.nodes.end(), is_leaf));
}

/// The mean size of 2,048 instances. Expects that none is smaller than `low` or larger than `high`.
template <class Instance, class Size>
double mean_size(const std::vector<Instance>& instances, std::size_t low, std::size_t high,
                 const Size& size) {
  EXPECT_EQ(instances.size(), 2048u);
  std::size_t sum = 0;
  for (const Instance& instance : instances) {
    EXPECT_GE(size(instance), low);
    EXPECT_LE(size(instance), high);
    sum += size(instance);
  }
  return static_cast<double>(sum) / static_cast<double>(instances.size());
}

// The tolerances are three standard errors: the standard deviations are about 7.6, 15, 11 and 10.
TEST(DataTest, SizesAndTheirMeans) {
  EXPECT_NEAR(mean_size(make_trees(kTreeData), 5, 40, leaf_count), 18, 0.5);
  for (const DataOptions& options : {kTaggerData, kLanguageData}) {
    const auto length = [](const Sentence& sentence) { return sentence.words.size(); };
    EXPECT_NEAR(mean_size(make_sentences(options), 3, 80, length), 25, 1);
  }
  const auto positions = [](const Lattice& lattice) { return lattice.tags.size(); };
  EXPECT_NEAR(mean_size(make_lattices(kLatticeData), 8, 60, positions), 30, 0.75);
  const auto nodes = [](const RandomDag& dag) { return dag.nodes.size(); };
  EXPECT_NEAR(mean_size(make_dags(kDagData), 16, 64, nodes), 36, 0.7);
}

TEST(DataTest, TreesAreTrees) {
  for (const BinaryTree& tree : make_trees(kTreeData)) {
    std::vector<int> parents(tree.nodes.size());
    for (unsigned v = 0; v < tree.nodes.size(); ++v) {
      const BinaryTree::Node& node = tree.nodes[v];
      ASSERT_LT(node.label, 5u);
      ASSERT_LT(node.word, 10000u);
      if (node.is_leaf()) continue;
      ASSERT_LT(node.left, v);
      ASSERT_LT(node.right, v);
      ++parents[node.left];
      ++parents[node.right];
    }
    EXPECT_EQ(parents.back(), 0);
    EXPECT_EQ(std::count(parents.begin(), parents.end(), 1),
              static_cast<std::ptrdiff_t>(parents.size() - 1));
  }
}

/// A word of rank r has probability 1 / (r H), where H is the sum of 1 / r over the vocabulary.
TEST(DataTest, WordsFollowZipfsLaw) {
  const auto sentences = make_sentences(kTaggerData);
  const std::vector<unsigned> counts = count_words(sentences, kTaggerData.vocabulary);
  double total = 0, harmonic = 0, count = 0, expected = 0;
  for (unsigned rank = 1; rank <= counts.size(); ++rank) {
    total += counts[rank - 1];
    harmonic += 1.0 / rank;
  }
  for (unsigned rank = 1; rank <= 100; ++rank) {
    count += counts[rank - 1];
    expected += total / harmonic / rank;
  }
  EXPECT_NEAR(count, expected, 4 * std::sqrt(expected));
  DataOptions other = kTaggerData;
  other.seed = 17;
  EXPECT_NE(make_sentences(other)[7].words, sentences[7].words);
  EXPECT_EQ(make_sentences(kTaggerData)[7].words, sentences[7].words);
}

TEST(DataTest, Spellings) {
  double sum = 0;
  for (const std::vector<unsigned>& spelling : make_spellings(kTaggerData)) {
    ASSERT_TRUE(spelling.size() >= 1 && spelling.size() <= 14);
    for (unsigned character : spelling) ASSERT_LT(character, kCharacters);
    sum += static_cast<double>(spelling.size());
  }
  EXPECT_NEAR(sum / kTaggerData.vocabulary, 6, 0.1);
}

/// Every position of a lattice is reached, and networks read earlier nodes.
TEST(DataTest, LatticesAndNetworks) {
  for (const Lattice& lattice : make_lattices(kLatticeData)) {
    unsigned end = 0;
    for (const Lattice::Arc& arc : lattice.arcs) {
      ASSERT_LT(arc.begin, arc.end);
      ASSERT_TRUE(arc.end == end || arc.end == end + 1);
      end = arc.end;
    }
    EXPECT_EQ(end, lattice.tags.size());
  }
  for (const RandomDag& dag : make_dags(kDagData)) {
    std::vector<bool> is_read(dag.nodes.size());
    for (unsigned v = 0; v < dag.nodes.size(); ++v) {
      const RandomDag::Node& node = dag.nodes[v];
      if (node.kind == RandomDag::Kind::word) continue;
      ASSERT_NE(node.a, node.b);
      for (unsigned input : {node.a, node.b}) {
        ASSERT_LT(input, v);
        is_read[input] = true;
      }
    }
    for (unsigned v = 0; v < dag.nodes.size(); ++v) {
      EXPECT_EQ(dag.nodes[v].is_sink, !is_read[v]);
    }
  }
}

std::string file_with(const char* name, const char* text) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path) << text;
  return path;
}

/// Words and tags are numbered by frequency, then by the alphabet, up to the last that is allowed.
TEST(DataTest, RealFiles) {
  const std::string trees = file_with("trees.txt", "(3 (2 so) (4 (0 good) (1 so)))\n");
  const BinaryTree tree = read_trees(trees, kTreeData)[0];
  std::vector<unsigned> labels, words_of_leaves;
  for (const BinaryTree::Node& node : tree.nodes) {
    labels.push_back(node.label);
    if (node.is_leaf()) words_of_leaves.push_back(node.word);
  }
  using Numbers = std::vector<unsigned>;
  EXPECT_EQ(labels, (Numbers{2, 0, 1, 4, 3}));
  EXPECT_EQ(words_of_leaves, (Numbers{0, 1, 0}));
  EXPECT_EQ(tree.nodes[4].right, 3u);
  std::string words;
  for (const char* line : {"a\ta\tX", "c\tc\tY", "b\tb\tX", "b\tb\tX"}) {
    words += std::to_string(1 + std::count(words.begin(), words.end(), '\n')) + '\t' + line +
             "\t_\t_\t_\t_\t_\t_\n";
  }
  const std::string sentences = file_with("sentences.conllu", (words + '\n').c_str());
  const Sentence sentence = read_sentences(sentences, kTaggerData)[0];
  EXPECT_EQ(sentence.words, (Numbers{1, 2, 0, 0}));
  EXPECT_EQ(sentence.tags, (Numbers{0, 1, 0, 0}));
  EXPECT_EQ(read_sentences(sentences, {2, 9, 1})[0].words, (Numbers{1, 1, 0, 0}));
}

}  // namespace
}  // namespace dynet_like::bench

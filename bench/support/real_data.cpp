// Reads sentences and trees, and numbers their words.
#include "bench/support/data.h"

#include <algorithm>
#include <map>

#include "dynet_like/core/random.h"
#include "nn/data/conllu.h"
#include "nn/data/treebank.h"

namespace dynet_like::bench {

namespace {

// Numbers words by their frequency; of equally frequent ones the first in the alphabet comes first.
class Ranks {
 public:
  void add(const std::string& word) { ++numbers_[word]; }
  void count_is_complete(unsigned limit) {
    std::vector<std::pair<unsigned, std::string>> words;
    for (const auto& [word, count] : numbers_) words.emplace_back(count, word);
    std::stable_sort(words.begin(), words.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (unsigned rank = 0; rank < words.size(); ++rank) {
      numbers_[words[rank].second] = std::min(rank, limit - 1);
    }
  }
  unsigned operator[](const std::string& word) const { return numbers_.at(word); }

 private:
  std::map<std::string, unsigned> numbers_;  // counts, until they are complete
};

template <class Instance>
void take_some(std::vector<Instance>& instances, std::uint64_t seed) {
  Random(seed).shuffle(instances);
  if (instances.size() > kInstances) instances.resize(kInstances);
}

}  // namespace

RealFiles& real_files() {
  static RealFiles files;
  return files;
}

void add_real_files(Options& options) {
  options
      .text(
          "trees", real_files().trees,
          "take the trees from this file, which has the format of the Stanford Sentiment Treebank")
      .text("sentences", real_files().sentences, "take the sentences from this file, CoNLL-U");
}

std::vector<BinaryTree> read_trees(const std::string& file, const DataOptions& options) {
  std::vector<nn::Tree> read =
      nn::read_treebank(file, {.label_count = static_cast<int>(options.labels)});
  Ranks words;
  for (const nn::Tree& tree : read) {
    for (unsigned v = 0; v < tree.size(); ++v) {
      if (tree.is_leaf(v)) words.add(tree.word(v));
    }
  }
  words.count_is_complete(options.vocabulary);
  take_some(read, options.seed);
  std::vector<BinaryTree> trees;
  for (const nn::Tree& tree : read) {
    BinaryTree& copy = trees.emplace_back();
    for (unsigned v = 0; v < tree.size(); ++v) {
      BinaryTree::Node& node = copy.nodes.emplace_back();
      node.label = static_cast<unsigned>(tree.label(v));
      if (tree.is_leaf(v)) {
        node.word = words[tree.word(v)];
      } else {
        node.left = tree.left(v);
        node.right = tree.right(v);
      }
    }
  }
  return trees;
}

std::vector<Sentence> read_sentences(const std::string& file, const DataOptions& options) {
  std::vector<nn::ConlluSentence> read = nn::read_conllu(file);
  // A language model predicts every word but the first.
  std::erase_if(read, [](const auto& sentence) { return sentence.words.size() < 2; });
  Ranks words, tags;
  for (const nn::ConlluSentence& sentence : read) {
    for (const nn::ConlluColumns& word : sentence.words) {
      words.add(word.form);
      tags.add(word.upos);
    }
  }
  words.count_is_complete(options.vocabulary);
  tags.count_is_complete(options.labels);
  take_some(read, options.seed);
  std::vector<Sentence> sentences;
  for (const nn::ConlluSentence& sentence : read) {
    Sentence& copy = sentences.emplace_back();
    for (const nn::ConlluColumns& word : sentence.words) {
      copy.words.push_back(words[word.form]);
      copy.tags.push_back(tags[word.upos]);
    }
  }
  return sentences;
}

}  // namespace dynet_like::bench

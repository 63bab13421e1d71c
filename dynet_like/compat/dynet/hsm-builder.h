// DyNet's hsm-builder.h: a distribution over words, by paths through a tree of clusters.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dynet/cfsm-builder.h"

namespace dynet {

/// A node of the tree. Its outcomes are its children or, for a leaf, its words, in the order in
/// which they were added. One outcome needs no parameters, two need one logit, more need one each.
class Cluster {
 public:
  /// The child with this symbol, which is added if it is new. Throws UsageError if there are words.
  Cluster* add_child(unsigned sym);
  /// Throws UsageError if the word is there already, or if there are children.
  void add_word(unsigned word);

  /// Makes parameters for this cluster and all below it. The second form throws UsageError unless
  /// the first was called before.
  void initialize(unsigned rep_dim, ParameterCollection& model);
  void initialize(ParameterCollection& model);
  void new_graph(ComputationGraph& cg, bool update = true);

  /// Draws an outcome from the distribution; the negative log likelihood of an outcome, {rep_dim}
  /// -> {1}; the log probabilities of all, {rep_dim} -> {outcomes}.
  unsigned sample(const Expression& h, dynet_like::ComputationGraph& cg) const;
  Expression neg_log_softmax(const Expression& h, unsigned r,
                             dynet_like::ComputationGraph& cg) const;
  Expression log_distribution(const Expression& h, dynet_like::ComputationGraph& cg) const;

  /// The outcome of a word or of a child's symbol; the word of a leaf's outcome; and a child. They
  /// throw UsageError if there is none.
  unsigned get_index(unsigned word) const;
  unsigned get_word(unsigned index) const;
  const Cluster* get_child(unsigned i) const;
  unsigned num_children() const { return static_cast<unsigned>(children_.size()); }
  unsigned num_words() const { return static_cast<unsigned>(words_.size()); }
  /// The symbols from the root to this cluster.
  const std::vector<unsigned>& get_path() const { return path_; }
  Expression get_weights(dynet_like::ComputationGraph& cg) const;
  Expression get_bias(dynet_like::ComputationGraph& cg) const;
  /// The path, separated by spaces.
  std::string toString() const;

 private:
  unsigned num_outcomes() const { return num_children() + num_words(); }
  const Parameter& checked(const Parameter& p) const;

  std::vector<std::unique_ptr<Cluster>> children_;
  std::vector<unsigned> words_, path_;
  std::unordered_map<unsigned, unsigned> index_;
  unsigned rep_dim_ = 0;
  detail::Logits logits_;
  bool update_ = true;
};

/// A softmax at every node of a tree (Morin and Bengio 2005, "Hierarchical probabilistic neural
/// network language model"). With a binary tree, the work grows with the logarithm of the number of
/// words. Words are numbered as in the dictionary. Words that are not in the tree have probability
/// 0.
class HierarchicalSoftmaxBuilder : public SoftmaxBuilder {
 public:
  /// Lines of the file: the path of a cluster, a tab, and a word; the rest is ignored (such as the
  /// counts of Brown clusters). A path is a list of symbols, separated by spaces, or a string of
  /// bits. In a line without tabs the path ends at the first space. A cluster with words cannot
  /// have others below it. Words are treated as by ClassFactoredSoftmaxBuilder. Throws FileError
  /// for a malformed file, a word that occurs twice, a path of more than 256 symbols, and more than
  /// 2^21 clusters.
  HierarchicalSoftmaxBuilder(unsigned rep_dim, const std::string& cluster_file, Dict& word_dict,
                             ParameterCollection& model);

  /// Makes new parameters, in another collection, which replace the first ones.
  void initialize(ParameterCollection& model) { root_.initialize(model); }
  void new_graph(ComputationGraph& cg, bool update = true) override { root_.new_graph(cg, update); }
  Expression neg_log_softmax(const Expression& rep, unsigned wordidx) override;
  Expression neg_log_softmax(const Expression& rep, const std::vector<unsigned>& wordidxs) override;
  unsigned sample(const Expression& rep) override;
  Expression full_log_distribution(const Expression& rep) override;
  /// The log probabilities.
  Expression full_logits(const Expression& rep) override { return full_log_distribution(rep); }
  ParameterCollection& get_parameter_collection() override { return model_; }

 private:
  void read_tree(const std::string& file, Dict& words);

  ParameterCollection model_;
  Cluster root_;
  std::vector<const Cluster*> leaves_;  ///< by word; null for words that are not in the tree
};

}  // namespace dynet

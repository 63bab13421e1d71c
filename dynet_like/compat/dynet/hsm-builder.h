// DyNet's hsm-builder.h: a distribution over words as a path through a tree of clusters.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "dynet/cfsm-builder.h"

namespace dynet {

/// A node of the tree. Its outcomes are its children or, for a leaf, its words, in the order in
/// which they were added. One outcome needs no parameters, two have a single logit, more one each.
class Cluster {
 public:
  /// The child of a symbol, a new one for a new symbol. Throws UsageError if there are words.
  Cluster* add_child(unsigned sym);
  /// Throws UsageError for a word that is there, or if there are children.
  void add_word(unsigned word);

  /// Makes parameters for this cluster and all below it. The second form needs the first one
  /// earlier, else it throws UsageError.
  void initialize(unsigned rep_dim, ParameterCollection& model);
  void initialize(ParameterCollection& model);
  void new_graph(ComputationGraph& cg, bool update = true);

  /// An outcome drawn from the distribution; the negative log likelihood of one: {rep_dim} -> {1};
  /// the logarithms of all: {rep_dim} -> {outcomes}.
  unsigned sample(const Expression& h, dynet_like::ComputationGraph& cg) const;
  Expression neg_log_softmax(const Expression& h, unsigned r,
                             dynet_like::ComputationGraph& cg) const;
  Expression log_distribution(const Expression& h, dynet_like::ComputationGraph& cg) const;

  /// The outcome that a word, or a child's symbol, is; the word that an outcome of a leaf is; and a
  /// child. Throw UsageError if there is none.
  unsigned get_index(unsigned word) const;
  unsigned get_word(unsigned index) const;
  const Cluster* get_child(unsigned i) const;
  unsigned num_children() const { return static_cast<unsigned>(children_.size()); }
  unsigned num_words() const { return static_cast<unsigned>(words_.size()); }
  /// The symbols on the way here.
  const std::vector<unsigned>& get_path() const { return path_; }
  Expression get_weights(dynet_like::ComputationGraph& cg) const;
  Expression get_bias(dynet_like::ComputationGraph& cg) const;
  /// The path, with spaces.
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
/// network language model"): with a binary tree, work of the order of the logarithm of the number
/// of words. Words are numbered as in the dictionary; those that are not in the tree have
/// probability 0.
class HierarchicalSoftmaxBuilder : public SoftmaxBuilder {
 public:
  /// Lines of the file: the path of a cluster, tab, a word, and what follows is left alone (as the
  /// counts of Brown's clusters). A path is symbols with spaces between them, or a string of bits.
  /// In a line without tabs, the path ends at the first space. Clusters that have words have no
  /// others below them. Words are treated as by ClassFactoredSoftmaxBuilder. Throws FileError for a
  /// malformed file, a word that comes twice, a path of more than 256 symbols and more than 2^21
  /// clusters.
  HierarchicalSoftmaxBuilder(unsigned rep_dim, const std::string& cluster_file, Dict& word_dict,
                             ParameterCollection& model);

  /// New parameters in another collection instead of those that were made first.
  void initialize(ParameterCollection& model) { root_.initialize(model); }
  void new_graph(ComputationGraph& cg, bool update = true) override { root_.new_graph(cg, update); }
  Expression neg_log_softmax(const Expression& rep, unsigned wordidx) override;
  Expression neg_log_softmax(const Expression& rep, const std::vector<unsigned>& wordidxs) override;
  unsigned sample(const Expression& rep) override;
  Expression full_log_distribution(const Expression& rep) override;
  /// The log distribution.
  Expression full_logits(const Expression& rep) override { return full_log_distribution(rep); }
  ParameterCollection& get_parameter_collection() override { return model_; }

 private:
  void read_tree(const std::string& file, Dict& words);

  ParameterCollection model_;
  Cluster root_;
  std::vector<const Cluster*> leaves_;  ///< by word; null for a word that is not in the tree
};

}  // namespace dynet

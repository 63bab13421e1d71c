// The Tree-LSTMs of the benchmark without graphs: no recording, no batching engine, plain arrays.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/by_hand/tree_cells.h"
#include "bench/by_hand/word_losses.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// Does the work of make_model(name, hidden, Form::fused) by hand, with the library's kernels and
/// the same initial weights. The nodes of all trees are sorted by height, nodes of the same height
/// are run together, and each weight gradient is one product at the end.
class TreeLSTM {
 public:
  /// The models that exist by hand.
  static constexpr const char *kBothForget = "tree_lstm", *kOwnForget = "tree_lstm_own_forget";
  static bool has(const std::string& name) { return name == kBothForget || name == kOwnForget; }

  /// Throws std::invalid_argument for other names.
  TreeLSTM(const std::string& name, unsigned hidden);

  /// The sum of the losses of these trees. `train`: update will follow.
  double forward(std::span<const BinaryTree> trees, bool train);
  /// Computes the gradients of the last forward pass, and makes a step of gradient descent.
  void update(float rate);

  /// All weights except the table of words, which has a row of kEmbedding numbers per word.
  std::vector<Weight*> weights();
  std::span<const float> table() const { return table_; }

  /// Floating-point operations of the products of the last forward pass.
  double product_flops() const;
  /// Number of heights in the last minibatch.
  std::size_t levels() const { return level_begins_.size() - 1; }

 private:
  TreeLSTM(Workload& model, unsigned hidden, MakeInnerCell make_cell);

  void find_levels(std::span<const BinaryTree> trees);
  void allocate(bool train);
  void forward_leaves();
  double run_losses(bool train);
  void backward_level(std::size_t begin, std::size_t end);
  void backward_leaves(float rate);

  std::size_t size() const { return words_.size(); }
  std::size_t leaves() const { return level_begins_[1]; }
  InnerNodes inner_nodes(std::size_t begin, std::size_t end) const;
  /// Leaves have no forget gates.
  Operand leaf_bias() const { return {nullptr, cell_->bias().values() + cell_->leaf_row()}; }
  const float* word(std::size_t leaf) const { return table_.data() + words_[leaf] * kEmbedding; }
  float* h(std::size_t node) const { return states_ + node * 2 * hidden_; }
  float* c(std::size_t node) const { return h(node) + hidden_; }
  float* dh(std::size_t node) const { return dstates_ + node * 2 * hidden_; }
  float* dc(std::size_t node) const { return dh(node) + hidden_; }

  std::unique_ptr<Queue> queue_;
  std::size_t hidden_;
  std::vector<float> table_;
  Weight w_;
  WordLosses output_;
  std::unique_ptr<InnerCell> cell_;
  Layer leaf_layer_;

  // Nodes by height, leaves first. Children are indices in this order.
  std::vector<std::size_t> level_begins_;
  std::vector<unsigned> lefts_, rights_, words_, roots_;
  std::vector<std::uint32_t> labels_;

  // By node, in the same order. A state is h, then c. Pointers that only training needs are null in
  // inference.
  Arena arena_;
  float *states_, *leaf_saved_;
  float *dstates_, *leaf_dgates_;
};

}  // namespace dynet_like::bench::by_hand

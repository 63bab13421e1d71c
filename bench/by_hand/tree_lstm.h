// The Tree-LSTM of the benchmark without graphs: no recording, no batching engine, plain arrays.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "bench/by_hand/kernels.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// Does by hand what the library does for make_tree_lstm(hidden, Form::fused), with its kernels and
/// beginning with the same weights: the nodes of all trees are ordered by their height, those of
/// one height are one call, and weight gradients are one product at the end.
class TreeLSTM {
 public:
  explicit TreeLSTM(unsigned hidden);

  /// The sum of the losses of these trees; `train`: update will follow.
  double forward(std::span<const BinaryTree> trees, bool train);
  /// Gradients of the last forward pass, and a step of gradient descent.
  void update(float rate);

  /// Floating-point operations of the products of the last forward pass.
  double product_flops() const;
  /// Number of heights in the last minibatch.
  std::size_t levels() const { return level_begins_.size() - 1; }

 private:
  TreeLSTM(unsigned hidden, Workload& model);
  struct Children;  ///< where the values of the children of some nodes lie

  void find_levels(std::span<const BinaryTree> trees);
  void allocate(bool train);
  void forward_leaves();
  void forward_level(std::size_t begin, std::size_t end);
  double forward_losses();
  void backward_losses();
  void backward_level(std::size_t begin, std::size_t end);
  void backward_leaves(float rate);

  std::size_t size() const { return words_.size(); }
  std::size_t leaves() const { return level_begins_[1]; }
  /// A leaf has no forget gates.
  Operand leaf_bias() const { return {nullptr, bias_.values() + 2 * hidden_}; }
  const float* word(std::size_t leaf) const { return table_.data() + words_[leaf] * kEmbedding; }
  float* h(std::size_t node) const { return states_ + node * 2 * hidden_; }
  float* c(std::size_t node) const { return h(node) + hidden_; }
  float* dh(std::size_t node) const { return dstates_ + node * 2 * hidden_; }
  float* dc(std::size_t node) const { return dh(node) + hidden_; }
  float* dgates(std::size_t inner) const {
    return inner_dgates_ + (inner - leaves()) * 5 * hidden_;
  }
  float* saved(std::size_t inner) const {
    return inner_saved_ == nullptr
               ? nullptr
               : inner_saved_ + (inner - leaves()) * inner_layer_.type().saved_size;
  }

  std::unique_ptr<Queue> queue_;
  std::size_t hidden_, classes_;
  std::vector<float> table_;  ///< a row of kEmbedding numbers per word
  Weight w_, left_, right_, bias_, output_, output_bias_;
  Layer leaf_layer_, inner_layer_, output_layer_, loss_layer_;

  // Nodes by height, leaves first; children are places in this order.
  std::vector<std::size_t> level_begins_;
  std::vector<unsigned> lefts_, rights_, words_, roots_;
  std::vector<std::uint32_t> labels_;

  // By node, in the same order; a state is h, then c. Null in inference: what is for training.
  Arena arena_;
  float *states_, *scores_, *losses_;
  float *leaf_saved_, *inner_saved_, *loss_saved_;
  float *dstates_, *dscores_, *leaf_dgates_, *inner_dgates_;
};

}  // namespace dynet_like::bench::by_hand

// The Tree-LSTM of the benchmark without graphs: no recording, no batching engine, plain arrays.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/by_hand/cells.h"
#include "bench/by_hand/products.h"
#include "bench/models/workload.h"

namespace dynet_like::bench::by_hand {

/// A matrix of the model, column-major, its packed copies in both directions, and its gradient.
struct Weight {
  std::size_t rows = 0, columns = 0;
  std::vector<float> values, gradient;
  PackedMatrix forward, backward;
};

/// Does by hand what the library does for make_tree_lstm(hidden, Form::fused), and begins with the
/// same weights: the nodes of all trees are ordered by their height, the nodes of one height are
/// multiplied together, and weight gradients are one product at the end.
class TreeLSTM {
 public:
  explicit TreeLSTM(unsigned hidden);

  /// The sum of the losses of these trees; `train`: backward will follow.
  double forward(std::span<const BinaryTree> trees, bool train);
  /// Gradients of the last forward pass, and a step of gradient descent.
  void update(float rate);

  /// Floating-point operations of the products of the last forward pass.
  double product_flops() const;
  /// Number of heights in the last minibatch.
  std::size_t levels() const { return level_begins_.size() - 1; }

 private:
  void find_levels(std::span<const BinaryTree> trees);
  void allocate(bool train);
  void forward_leaves();
  void forward_level(std::size_t begin, std::size_t end);
  void backward_outputs();
  void backward_level(std::size_t begin, std::size_t end);
  void backward_leaves(float rate);
  void inner_weight_gradients();
  const float* word(std::size_t leaf) const { return table_.data() + words_[leaf] * kEmbedding; }
  std::size_t leaves() const { return level_begins_[1]; }

  std::size_t hidden_, classes_;
  std::vector<float> table_;  ///< a row of kEmbedding numbers per word
  Weight leaf_, left_, right_, output_;
  std::vector<float> bias_, output_bias_, bias_gradient_, output_bias_gradient_;

  // Nodes by height, leaves first; children are places in this order.
  std::vector<std::size_t> level_begins_;
  std::vector<unsigned> lefts_, rights_, words_, labels_, roots_;

  Arena arena_;
  std::vector<Cell> cells_;
  float* scores_ = nullptr;
  std::vector<const float*> xs_, more_xs_;
  std::vector<float*> ys_;
};

}  // namespace dynet_like::bench::by_hand

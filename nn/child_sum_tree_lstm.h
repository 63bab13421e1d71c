// ChildSumTreeLSTM: an LSTM over trees whose nodes have any number of children, such as dependency
// trees.
#pragma once

#include <span>

#include "dynet_like/graph/recursion.h"
#include "nn/layer_options.h"
#include "nn/structures.h"

namespace dynet_like::nn {

/// The Child-Sum Tree-LSTM of Tai et al. (2015), equations 2 to 8, with an input x at every node.
/// With h_1, c_1, h_2, c_2, ... of its children, in any order, and s = h_1 + h_2 + ...:
///   i, o = sigmoid(b + W x + U s), each its own rows;  u = tanh(b + W x + U s)
///   f_k  = sigmoid(b + W x + U_f h_k), one for every child
///   c = i * u + f_1 * c_1 + f_2 * c_2 + ...;  h = o * tanh(c)
/// The rows are in the order f, i, o, u. W and U are drawn as Glorot and Bengio (2010) propose,
/// gate by gate; b is 1 for the forget gate at first and 0 for the others.
class ChildSumTreeLSTM {
 public:
  /// The state of a node: the output h and the cell c. Shapes: {hidden} and {hidden}.
  using State = CellState;

  /// Adds its parameters "W" and "b" (all gates), "U" (i, o, u) and "U_f" to a subcollection of
  /// `model`. Throws ShapeError for size 0.
  ChildSumTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                   const LayerOptions& options = {});

  /// The state of a node; a leaf has no children. Shapes: x {inputs}. Throws ShapeError unless x
  /// and the children fit.
  State node(const Expression& x, std::span<const State> children = {}) const;
  /// The states of all vertices of a tree, such as the words of a sentence in
  /// heads_bottom_up(heads), as one node. Shapes: xs {inputs, n}, with n the columns that the
  /// structure reads. Throws ShapeError unless xs fits, UsageError for a vertex without a column.
  States<State> operator()(const Structure& tree, const Expression& xs) const;

  unsigned hidden() const { return hidden_; }

 private:
  unsigned hidden_;
  Parameter input_weights_, bias_, sum_weights_, forget_weights_;
  Recursion<State> along_;
};

}  // namespace dynet_like::nn

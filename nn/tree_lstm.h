// TreeLSTM: an LSTM over binary trees, from the leaves to the root.
#pragma once

#include <concepts>
#include <span>
#include <vector>

#include "dynet_like/graph/recursion.h"
#include "nn/data/tree.h"
#include "nn/layer_options.h"
#include "nn/structures.h"

namespace dynet_like::nn {

/// The N-ary Tree-LSTM of Tai et al. (2015), equations 9 to 14, with N = 2 and inputs at the leaves
/// only, as in constituency trees. For an inner node with children l and r:
///   i, o   = sigmoid(b + U_l h_l + U_r h_r), each its own rows of b, U_l and U_r
///   f_l, f_r = the same with two forget gates, which see both children
///   u      = tanh(b + U_l h_l + U_r h_r)
///   c = i * u + f_l * c_l + f_r * c_r;  h = o * tanh(c)
/// A leaf has no children: i, o, u come from b + W x, with the same b, and c = i * u.
class TreeLSTM {
 public:
  /// The state of a node: the output h and the cell c. Shapes: {hidden} and {hidden}.
  using State = CellState;

  /// Adds its parameters "W", "U_left", "U_right" and "b" to a subcollection of `model`. W and U
  /// are drawn as Glorot and Bengio (2010) propose, gate by gate; initially b is 1 for the forget
  /// gates and 0 for the others. Throws ShapeError for size 0.
  TreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
           const LayerOptions& options = {});

  /// Shapes: x {inputs}. Throws ShapeError unless x fits.
  State leaf(const Expression& x) const;
  State inner(const State& left, const State& right) const;

  /// The states of all nodes of a tree, by node number; xs has the input of every leaf from left to
  /// right. Throws UsageError for another number of inputs, and for an inner node without exactly
  /// two children.
  std::vector<State> operator()(const Tree& tree, std::span<const Expression> xs) const;

  /// The same as one node; xs has a column for every leaf, from left to right. You can make
  /// `structure_of(tree)` once and keep it with the tree. Shapes: xs {inputs, leaves}. Throws
  /// ShapeError for another shape, UsageError for an inner node without exactly two children, or
  /// with a column.
  template <std::same_as<Expression> Matrix>
  States<State> operator()(const Tree& tree, const Matrix& xs) const {
    return (*this)(structure_of(tree), xs);
  }
  States<State> operator()(const Structure& tree, const Expression& xs) const;

  unsigned hidden() const { return hidden_; }

 private:
  unsigned hidden_;
  Parameter leaf_weights_, left_weights_, right_weights_, bias_;
  Recursion<State> along_;
};

}  // namespace dynet_like::nn

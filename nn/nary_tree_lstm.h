// NaryTreeLSTM: an LSTM over trees whose nodes have up to N ordered children, with inputs at any
// node.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynet_like/graph/recursion.h"
#include "nn/layer_options.h"

namespace dynet_like::nn {

struct NaryTreeLSTMOptions {
  /// N, the maximum number of children of a node, from 1 to 15. It has no default.
  unsigned children = 0;
  std::string name = {};
};

/// The N-ary Tree-LSTM of Tai et al. (2015), equations 9 to 14, where the order of children
/// matters:
///   i, o = sigmoid and u = tanh of b + W x + U_1 h_1 + ... + U_N h_N, each its own rows
///   f_k  = the same with rows of its own for every child, which sees all children
///   c = i * u + f_1 * c_1 + ... + f_N * c_N;  h = o * tanh(c)
/// In the paper the forget gates share their rows of W and b; here every child has its own. A
/// missing child has h = c = 0. A node without an input has no term W x. W and U are drawn as
/// Glorot and Bengio (2010) propose, gate by gate; initially b is 1 for the forget gates and 0 for
/// the others. TreeLSTM is the special case with two children and inputs at the leaves only.
class NaryTreeLSTM {
 public:
  /// The state of a node: the output h and the cell c. Shapes: {hidden} and {hidden}.
  using State = CellState;

  /// Adds its parameters "W" (rows in the order i, o, u), "W_f" (f_1, f_2, ...), "U_1", "U_2", ...
  /// and "b" (f_1, f_2, ..., i, o, u) to a subcollection of `model`. Throws ShapeError for size 0,
  /// UsageError unless there are 1 to 15 children.
  NaryTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
               const NaryTreeLSTMOptions& options);

  /// The state of a node with an input. A leaf has no children. Shapes: x {inputs}. Throws
  /// ShapeError unless x and the children fit, UsageError for more children than N.
  State node(const Expression& x, std::span<const State> children = {}) const;
  /// The state of a node without an input. Throws as above, and UsageError for no children.
  State node(std::span<const State> children) const;
  /// The states of all vertices of a tree, as one node of the graph; vertices may have no column.
  /// Shapes: xs {inputs, n}, with n the columns that the structure reads. Throws as above.
  States<State> operator()(const Structure& tree, const Expression& xs) const;

  unsigned hidden() const { return hidden_; }
  unsigned children() const { return static_cast<unsigned>(child_weights_.size()); }

 private:
  State inner(std::vector<Expression> products, std::span<const State> children) const;

  unsigned hidden_;
  Parameter input_weights_, forget_input_weights_, bias_;
  std::vector<Parameter> child_weights_;
  Recursion<State> along_;
};

}  // namespace dynet_like::nn

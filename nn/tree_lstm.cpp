// TreeLSTM: one product per child for all gates, whose blocks are views.
#include "nn/tree_lstm.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/gates.h"

namespace dynet_like::nn {

// The rows are in the order f_l, f_r, i, o, u: the gates lie together, and so do those of a leaf.
TreeLSTM::TreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                   const std::string& name)
    : hidden_(hidden) {
  ParameterCollection own = model.add_subcollection(name);
  leaf_weights_ = add_gate_weights(own, 3, hidden, inputs, "W");
  left_weights_ = add_gate_weights(own, 5, hidden, hidden, "U_left");
  right_weights_ = add_gate_weights(own, 5, hidden, hidden, "U_right");
  bias_ = add_gate_bias(own, hidden, {1, 1, 0, 0, 0}, "b");
}

TreeLSTM::State TreeLSTM::leaf(ComputationGraph& graph, const Expression& x) const {
  const unsigned n = hidden_;
  const Expression bias = pick_range(parameter(graph, bias_), 2 * n, 5 * n);
  const Expression sums = affine_transform({bias, parameter(graph, leaf_weights_), x});
  const Expression gates = logistic(pick_range(sums, 0, 2 * n));
  const Expression i = pick_range(gates, 0, n), o = pick_range(gates, n, 2 * n);
  const Expression c = cmult(i, tanh(pick_range(sums, 2 * n, 3 * n)));
  return {cmult(o, tanh(c)), c};
}

TreeLSTM::State TreeLSTM::inner(ComputationGraph& graph, const State& left,
                                const State& right) const {
  const unsigned n = hidden_;
  const Expression sums =
      affine_transform({parameter(graph, bias_), parameter(graph, left_weights_), left.h,
                        parameter(graph, right_weights_), right.h});
  const Expression gates = logistic(pick_range(sums, 0, 4 * n));
  const Expression f_left = pick_range(gates, 0, n), f_right = pick_range(gates, n, 2 * n),
                   i = pick_range(gates, 2 * n, 3 * n), o = pick_range(gates, 3 * n, 4 * n);
  const Expression u = tanh(pick_range(sums, 4 * n, 5 * n));
  const Expression c = cmult(i, u) + cmult(f_left, left.c) + cmult(f_right, right.c);
  return {cmult(o, tanh(c)), c};
}

std::vector<TreeLSTM::State> TreeLSTM::operator()(ComputationGraph& graph, const Tree& tree,
                                                  std::span<const Expression> xs) const {
  if (xs.size() != tree.leaf_count()) {
    throw UsageError("[TreeLSTM] need an input for every leaf; got " + std::to_string(xs.size()) +
                     " for " + std::to_string(tree.leaf_count()) + " leaves");
  }
  std::vector<State> states;
  states.reserve(tree.size());
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    if (tree.is_leaf(node)) {
      states.push_back(leaf(graph, xs[tree.nodes()[node].word]));
    } else if (tree.children(node).size() == 2) {
      states.push_back(inner(graph, states[tree.left(node)], states[tree.right(node)]));
    } else {
      throw UsageError("[TreeLSTM] need nodes with two children; got one with " +
                       std::to_string(tree.children(node).size()));
    }
  }
  return states;
}

}  // namespace dynet_like::nn

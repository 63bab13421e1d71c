// TreeLSTM: one node of the graph per node of the tree.
#include "nn/tree_lstm.h"

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"
#include "nn/gates.h"

namespace dynet_like::nn {

// The rows are in the order f_l, f_r, i, o, u, so that all gates are adjacent, and also i, o, u,
// which leaves use.
TreeLSTM::TreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                   const LayerOptions& options)
    : hidden_(hidden) {
  ParameterCollection own = add_layer(model, options.name, "tree_lstm");
  leaf_weights_ = add_gate_weights(own, 3, hidden, inputs, "W");
  left_weights_ = add_gate_weights(own, 5, hidden, hidden, "U_left");
  right_weights_ = add_gate_weights(own, 5, hidden, hidden, "U_right");
  bias_ = add_gate_bias(own, hidden, {1, 1, 0, 0, 0}, "b");
  along_ = recursion<State>(
      [cell = *this](const Expression& x, const std::vector<State>& children) {
        if (children.empty()) return cell.leaf(x);
        if (children.size() != 2) {
          throw UsageError("[TreeLSTM] need nodes with two children; got one with " +
                           std::to_string(children.size()));
        }
        if (!x.empty()) {
          throw UsageError(
              "[TreeLSTM] need inputs at leaves only; got one at an inner node: NaryTreeLSTM takes "
              "those");
        }
        return cell.inner(children[0], children[1]);
      },
      "TreeLSTM");
}

TreeLSTM::State TreeLSTM::leaf(const Expression& x) const {
  ComputationGraph& graph = x.graph("TreeLSTM");
  check_input("TreeLSTM", x, leaf_weights_.dim()[1], leaf_weights_.get_storage());
  const unsigned n = hidden_;
  const Expression bias = pick_range(parameter(graph, bias_), 2 * n, 5 * n);
  const Expression xs[] = {leaf_weights_, x};
  return lstm_cell(bias, xs, {});
}

TreeLSTM::State TreeLSTM::inner(const State& left, const State& right) const {
  for (const State* child : {&left, &right}) {
    check_input("TreeLSTM", child->h, hidden_, left_weights_.get_storage(), false, "states");
  }
  const Expression xs[] = {left_weights_, left.h, right_weights_, right.h};
  const Expression cells[] = {left.c, right.c};
  return lstm_cell(bias_, xs, cells);
}

std::vector<TreeLSTM::State> TreeLSTM::operator()(const Tree& tree,
                                                  std::span<const Expression> xs) const {
  if (xs.size() != tree.leaf_count()) {
    throw UsageError("[TreeLSTM] need an input for every leaf; got " + std::to_string(xs.size()) +
                     " for " + detail::counted(tree.leaf_count(), "leaf", "leaves"));
  }
  std::vector<State> states;
  states.reserve(tree.size());
  for (std::uint32_t node = 0; node < tree.size(); ++node) {
    if (tree.is_leaf(node)) {
      states.push_back(leaf(xs[tree.nodes()[node].word]));
    } else if (tree.children(node).size() == 2) {
      states.push_back(inner(states[tree.left(node)], states[tree.right(node)]));
    } else {
      throw UsageError("[TreeLSTM] need nodes with two children; got one with " +
                       std::to_string(tree.children(node).size()));
    }
  }
  return states;
}

States<TreeLSTM::State> TreeLSTM::operator()(const Structure& tree, const Expression& xs) const {
  check_columns("TreeLSTM", tree, xs, leaf_weights_.dim()[1], leaf_weights_.get_storage());
  return along_(tree, xs);
}

}  // namespace dynet_like::nn

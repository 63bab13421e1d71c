// ChildSumTreeLSTM: nodes for the sum of the children, and for the forget gate of each.
#include "nn/child_sum_tree_lstm.h"

#include <vector>

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"
#include "nn/gates.h"

namespace dynet_like::nn {

ChildSumTreeLSTM::ChildSumTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                                   const LayerOptions& options)
    : hidden_(hidden) {
  ParameterCollection own = add_layer(model, options.name, "child_sum_tree_lstm");
  input_weights_ = add_gate_weights(own, 4, hidden, inputs, "W");
  bias_ = add_gate_bias(own, hidden, {1, 0, 0, 0}, "b");
  sum_weights_ = add_gate_weights(own, 3, hidden, hidden, "U");
  forget_weights_ = add_gate_weights(own, 1, hidden, hidden, "U_f");
  along_ = recursion<State>(
      [cell = *this](const Expression& x, const std::vector<State>& children) {
        if (x.empty()) {
          throw UsageError(
              "[ChildSumTreeLSTM] need a column for every vertex; got one without, such as an "
              "inner node of structure_of(tree): NaryTreeLSTM and TreeLSTM take these");
        }
        return cell.node(x, children);
      },
      "ChildSumTreeLSTM");
}

ChildSumTreeLSTM::State ChildSumTreeLSTM::node(const Expression& x,
                                               std::span<const State> children) const {
  check_input("ChildSumTreeLSTM", x, input_weights_.dim()[1], input_weights_.get_storage());
  for (const State& child : children) {
    check_input("ChildSumTreeLSTM", child.h, hidden_, sum_weights_.get_storage(), false, "states");
  }
  const unsigned n = hidden_;
  // The part of all gates that depends on the input, computed once.
  const Expression from_x = affine_transform({bias_, input_weights_, x});
  const Expression forget_from_x = pick_range(from_x, 0, n);
  Expression sums = pick_range(from_x, n, 4 * n);
  std::vector<Expression> outputs, kept;
  for (const State& child : children) {
    outputs.push_back(child.h);
    const Expression forget = sigmoid(affine_transform({forget_from_x, forget_weights_, child.h}));
    kept.push_back(cmult(forget, child.c));
  }
  if (!children.empty()) {
    sums = affine_transform({sums, sum_weights_, sum(outputs)});
  }
  const Expression gates = sigmoid(pick_range(sums, 0, 2 * n));
  const Expression i = pick_range(gates, 0, n), o = pick_range(gates, n, 2 * n);
  kept.push_back(cmult(i, tanh(pick_range(sums, 2 * n, 3 * n))));
  const Expression c = sum(kept);
  return {cmult(o, tanh(c)), c};
}

States<ChildSumTreeLSTM::State> ChildSumTreeLSTM::operator()(const Structure& tree,
                                                             const Expression& xs) const {
  check_columns("ChildSumTreeLSTM", tree, xs, input_weights_.dim()[1],
                input_weights_.get_storage());
  return along_(tree, xs);
}

}  // namespace dynet_like::nn

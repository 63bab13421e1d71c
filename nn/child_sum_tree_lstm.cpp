// ChildSumTreeLSTM: nodes for the sum of the children, and for the forget gate of each.
#include "nn/child_sum_tree_lstm.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/gates.h"

namespace dynet_like::nn {

namespace {

/// The words in an order in which every word comes before its head.
std::vector<std::uint32_t> children_first(std::span<const std::uint32_t> heads) {
  const std::size_t words = heads.size();
  std::vector<std::uint32_t> waiting_for(words + 1), order;
  for (const std::uint32_t head : heads) {
    if (head > words) {
      throw UsageError("[ChildSumTreeLSTM] need heads of at most " + std::to_string(words) +
                       "; got " + std::to_string(head));
    }
    ++waiting_for[head];
  }
  order.reserve(words);
  for (std::uint32_t word = 1; word <= words; ++word) {
    if (waiting_for[word] == 0) order.push_back(word);
  }
  for (std::size_t done = 0; done < order.size(); ++done) {
    const std::uint32_t head = heads[order[done] - 1];
    if (--waiting_for[head] == 0 && head != 0) order.push_back(head);
  }
  if (order.size() != words) {
    throw UsageError("[ChildSumTreeLSTM] need heads without a circle; got one among " +
                     std::to_string(words - order.size()) + " words");
  }
  return order;
}

}  // namespace

ChildSumTreeLSTM::ChildSumTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                                   const std::string& name)
    : hidden_(hidden) {
  ParameterCollection own = model.add_subcollection(name);
  input_weights_ = add_gate_weights(own, 4, hidden, inputs, "W");
  bias_ = add_gate_bias(own, hidden, {1, 0, 0, 0}, "b");
  sum_weights_ = add_gate_weights(own, 3, hidden, hidden, "U");
  forget_weights_ = add_gate_weights(own, 1, hidden, hidden, "U_f");
}

ChildSumTreeLSTM::State ChildSumTreeLSTM::node(const Expression& x,
                                               std::span<const State> children) const {
  ComputationGraph& graph = x.graph("ChildSumTreeLSTM");
  const unsigned n = hidden_;
  // What all gates get from the input, once.
  const Expression from_x =
      affine_transform({parameter(graph, bias_), parameter(graph, input_weights_), x});
  const Expression forget_from_x = pick_range(from_x, 0, n);
  Expression sums = pick_range(from_x, n, 4 * n);
  std::vector<Expression> outputs, kept;
  for (const State& child : children) {
    outputs.push_back(child.h);
    const Expression forget =
        logistic(affine_transform({forget_from_x, parameter(graph, forget_weights_), child.h}));
    kept.push_back(cmult(forget, child.c));
  }
  if (!children.empty()) {
    sums = affine_transform({sums, parameter(graph, sum_weights_), sum(outputs)});
  }
  const Expression gates = logistic(pick_range(sums, 0, 2 * n));
  const Expression i = pick_range(gates, 0, n), o = pick_range(gates, n, 2 * n);
  kept.push_back(cmult(i, tanh(pick_range(sums, 2 * n, 3 * n))));
  const Expression c = sum(kept);
  return {cmult(o, tanh(c)), c};
}

std::vector<ChildSumTreeLSTM::State> ChildSumTreeLSTM::operator()(
    std::span<const std::uint32_t> heads, std::span<const Expression> xs) const {
  if (heads.size() != xs.size()) {
    throw UsageError("[ChildSumTreeLSTM] need a head for every input; got " +
                     std::to_string(heads.size()) + " for " + std::to_string(xs.size()));
  }
  std::vector<State> states(xs.size());
  std::vector<std::vector<State>> children(xs.size() + 1);
  for (const std::uint32_t word : children_first(heads)) {
    states[word - 1] = node(xs[word - 1], children[word]);
    children[heads[word - 1]].push_back(states[word - 1]);
  }
  return states;
}

}  // namespace dynet_like::nn

// NaryTreeLSTM: one node of the graph per node of the tree.
#include "nn/nary_tree_lstm.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "nn/check_input.h"
#include "nn/gates.h"

namespace dynet_like::nn {

NaryTreeLSTM::NaryTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                           const NaryTreeLSTMOptions& options)
    : hidden_(hidden) {
  const unsigned children = required("NaryTreeLSTM", "children", options.children);
  // A cell has at most 16 products, one of which is that of the input.
  if (children > 15) {
    throw UsageError("[NaryTreeLSTM] need at most 15 children; got " + std::to_string(children));
  }
  ParameterCollection own = add_layer(model, options.name, "nary_tree_lstm");
  input_weights_ = add_gate_weights(own, 3, hidden, inputs, "W");
  forget_input_weights_ = add_gate_weights(own, children, hidden, inputs, "W_f");
  for (unsigned child = 1; child <= children; ++child) {
    child_weights_.push_back(
        add_gate_weights(own, children + 3, hidden, hidden, "U_" + std::to_string(child)));
  }
  std::vector<float> bias(children, 1);
  bias.resize(children + 3, 0);
  bias_ = add_gate_bias(own, hidden, bias, "b");
  along_ = recursion<State>(
      [cell = *this](const Expression& x, const std::vector<State>& before) {
        return x.empty() ? cell.node(before) : cell.node(x, before);
      },
      "NaryTreeLSTM");
}

States<NaryTreeLSTM::State> NaryTreeLSTM::operator()(const Structure& tree,
                                                     const Expression& xs) const {
  check_columns("NaryTreeLSTM", tree, xs, input_weights_.dim()[1], input_weights_.get_storage());
  return along_(tree, xs);
}

NaryTreeLSTM::State NaryTreeLSTM::node(const Expression& x, std::span<const State> children) const {
  ComputationGraph& graph = x.graph("NaryTreeLSTM");
  check_input("NaryTreeLSTM", x, input_weights_.dim()[1], input_weights_.get_storage());
  if (children.empty()) {
    const unsigned first = this->children() * hidden_;
    const Expression bias = pick_range(parameter(graph, bias_), first, first + 3 * hidden_);
    const Expression xs[] = {input_weights_, x};
    return lstm_cell(bias, xs, {});
  }
  // The concatenation depends only on parameters, so it is computed once for all nodes.
  return inner({concatenate({parameter(graph, forget_input_weights_), input_weights_}), x},
               children);
}

NaryTreeLSTM::State NaryTreeLSTM::node(std::span<const State> children) const {
  if (children.empty()) {
    throw UsageError("[NaryTreeLSTM] need a child or an input; got neither");
  }
  return inner({}, children);
}

NaryTreeLSTM::State NaryTreeLSTM::inner(std::vector<Expression> products,
                                        std::span<const State> children) const {
  if (children.size() > this->children()) {
    throw UsageError("[NaryTreeLSTM] need at most " + std::to_string(this->children()) +
                     " children; got " + std::to_string(children.size()));
  }
  ComputationGraph& graph = children.front().h.graph("NaryTreeLSTM");
  for (const State& child : children) {
    check_input("NaryTreeLSTM", child.h, hidden_, child_weights_.front().get_storage(), false,
                "states");
  }
  std::vector<Expression> cells;
  for (std::size_t child = 0; child < child_weights_.size(); ++child) {
    const bool is_there = child < children.size();
    const Expression none = is_there ? Expression() : zeros(graph, {hidden_});
    products.push_back(child_weights_[child]);
    products.push_back(is_there ? children[child].h : none);
    cells.push_back(is_there ? children[child].c : none);
  }
  return lstm_cell(bias_, products, cells);
}

}  // namespace dynet_like::nn

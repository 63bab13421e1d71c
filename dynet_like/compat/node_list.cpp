// The nodes of a graph, as DyNet's programs see them.
#include "dynet/node-list.h"

#include "dynet_like/core/errors.h"
#include "dynet_like/graph/computation_graph.h"
#include "dynet_like/tape/tape.h"

namespace dynet {

namespace {

std::string dynet_name(std::string_view op) {
  if (op == "relu") return "rectify";
  if (op == "sigmoid") return "logistic";
  if (op == "cross_entropy") return "pickneglogsoftmax";
  return std::string(op);
}

}  // namespace

std::string Node::as_string(const std::vector<std::string>& names) const {
  std::string text = name + '(';
  for (std::size_t i = 0; i < args.size(); ++i) {
    text += (i > 0 ? ", " : "") + (i < names.size() ? names[i] : "x" + std::to_string(i + 1));
  }
  return text + ')';
}
std::string Node::as_dummy_string() const { return as_string({}); }

std::size_t NodeList::size() const { return graph_.record().tape().values().size(); }

Node* NodeList::operator[](std::size_t i) const {
  if (i >= size()) {
    throw dynet_like::UsageError("[ComputationGraph::nodes] need a node below " +
                                 std::to_string(size()) + "; got " + std::to_string(i));
  }
  const auto [found, is_new] = known_.try_emplace(i);
  Node& node = found->second;
  if (!is_new) return &node;
  const dynet_like::detail::Tape& tape = graph_.record().tape();
  const auto index = static_cast<VariableIndex>(i);
  const dynet_like::detail::NodeId recorded = tape.value(index).node;
  const dynet_like::detail::ValueId whole = tape.node(recorded).value;
  node.dim = tape.dim_of(index);
  if (whole != index) {
    node.name = "view";
    node.args = {whole};
    return &node;
  }
  node.name = dynet_name(tape.type_of(recorded).op->name);
  const auto inputs = tape.inputs_of(recorded);
  node.args.assign(inputs.begin(), inputs.end());
  return &node;
}

}  // namespace dynet

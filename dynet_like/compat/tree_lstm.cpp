// Builders of LSTMs over trees.
#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "dynet/treelstm.h"
#include "dynet_like/core/errors.h"

namespace dynet {

using detail::CellState;
using dynet_like::UsageError;

namespace {

// Functions for sequences throw, since a tree has no last state.
[[noreturn]] void throw_for_sequences(const char* function) {
  throw UsageError(std::string("[") + function +
                   "] need a builder for sequences; got one for trees, whose nodes are in h");
}

template <class Node>
void resize(std::vector<Node>& nodes, int length) {
  if (length < 0) {
    throw UsageError("[set_num_elements] need at least 0; got " + std::to_string(length));
  }
  nodes.resize(static_cast<std::size_t>(length));
}

// Returns the index of a node that exists, or of the next one.
template <class Node>
std::size_t checked_id(const std::vector<Node>& nodes, int id) {
  if (id < 0 || static_cast<std::size_t>(id) > nodes.size()) {
    throw UsageError("[TreeLSTMBuilder] need a node from 0 to " + std::to_string(nodes.size()) +
                     ", the next one, or set_num_elements first; got " + std::to_string(id));
  }
  return static_cast<std::size_t>(id);
}

template <class Node>
void put(std::vector<Node>& nodes, std::size_t id, Node node) {
  if (id == nodes.size()) nodes.emplace_back();
  nodes[id] = std::move(node);
}

bool is_read(const Expression& node) { return node.pg != nullptr; }
bool is_read(const std::vector<Expression>& layers) { return !layers.empty(); }

template <class Node>
const Node& checked_child(const std::vector<Node>& nodes, int child) {
  const auto id = static_cast<std::size_t>(child);  // a negative number becomes large
  if (id >= nodes.size() || !is_read(nodes[id])) {
    throw UsageError("[TreeLSTMBuilder] need children before their parents; got child " +
                     std::to_string(child) + ", which has not been read");
  }
  return nodes[id];
}

}  // namespace

Expression TreeLSTMBuilder::back() const { throw_for_sequences("back"); }
std::vector<Expression> TreeLSTMBuilder::final_h() const { throw_for_sequences("final_h"); }
std::vector<Expression> TreeLSTMBuilder::final_s() const { throw_for_sequences("final_s"); }
unsigned TreeLSTMBuilder::num_h0_components() const { throw_for_sequences("num_h0_components"); }
void TreeLSTMBuilder::copy(const RNNBuilder&) { throw_for_sequences("copy"); }
std::vector<Expression> TreeLSTMBuilder::get_h(RNNPointer) const { throw_for_sequences("get_h"); }
std::vector<Expression> TreeLSTMBuilder::get_s(RNNPointer) const { throw_for_sequences("get_s"); }
Expression TreeLSTMBuilder::set_s_impl(int, const std::vector<Expression>&) {
  throw_for_sequences("set_s");
}
Expression TreeLSTMBuilder::set_h_impl(int, const std::vector<Expression>&) {
  throw_for_sequences("set_h");
}
Expression TreeLSTMBuilder::add_input_impl(int, const Expression&) {
  throw_for_sequences("add_input");
}

namespace {

enum { X2I, BI, X2F, BF, X2O, BO, X2C, BC };
enum { H2I, H2F, H2O, H2C, C2I, C2F, C2O, kTables };

// affine_transform of any number of products.
Expression affine(std::span<const Expression> terms) {
  constexpr std::size_t kMost = 2 * 16;
  Expression sum = terms[0];
  for (std::size_t i = 1; i < terms.size(); i += kMost) {
    const auto part = terms.subspan(i, std::min(kMost, terms.size() - i));
    std::vector<Expression> xs = {sum};
    xs.insert(xs.end(), part.begin(), part.end());
    sum = affine_transform(xs);
  }
  return sum;
}

}  // namespace

NaryTreeLSTMBuilder::NaryTreeLSTMBuilder(unsigned branching, unsigned layer_count,
                                         unsigned input_size, unsigned hidden,
                                         ParameterCollection& model)
    : local_model(model.add_subcollection("nary-tree-lstm-builder")),
      layers(layer_count),
      N(branching) {
  const auto table = [&](unsigned rows) {
    return local_model.add_lookup_parameters(rows, {hidden, hidden});
  };
  for (unsigned layer = 0; layer < layers; ++layer) {
    std::vector<Parameter> all;
    std::vector<LookupParameter> tables(kTables);
    const auto add_weights = [&] {
      all.push_back(local_model.add_parameters({hidden, layer == 0 ? input_size : hidden}));
    };
    const auto add_bias = [&] {
      all.push_back(local_model.add_parameters({hidden}, ParameterInitConst(0)));
    };
    const auto add_gate = [&](unsigned h_table, unsigned c_table, unsigned rows) {
      add_weights();
      tables[h_table] = table(rows);
      tables[c_table] = table(rows);
      add_bias();
    };
    add_gate(H2I, C2I, N);
    add_gate(H2F, C2F, N * N);
    add_gate(H2O, C2O, N);
    add_weights();
    tables[H2C] = table(N);
    add_bias();
    params.push_back(std::move(all));
    lparams.push_back(std::move(tables));
  }
}

void NaryTreeLSTMBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  if (layers == 0) throw UsageError("[new_graph] need a builder with layers; got an empty one");
  update_ = update;
  param_vars = detail::in_graph(cg, params, update);
  lparam_vars.clear();
  for (const std::vector<LookupParameter>& tables : lparams) {
    lparam_vars.emplace_back();
    for (const LookupParameter& table : tables) lparam_vars.back().emplace_back(table.rows());
  }
}

void NaryTreeLSTMBuilder::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  if (!h_0.empty() && h_0.size() != 2 * layers) {
    throw UsageError("[start_new_sequence] need " + std::to_string(2 * layers) +
                     " initial states; got " + std::to_string(h_0.size()));
  }
  h.clear();
  c.clear();
  const auto middle = h_0.begin() + static_cast<std::ptrdiff_t>(h_0.size() / 2);
  c0.assign(h_0.begin(), middle);
  h0.assign(middle, h_0.end());
  has_initial_state = !h_0.empty();
}

void NaryTreeLSTMBuilder::set_num_elements(int length) {
  resize(h, length);
  resize(c, length);
}

void NaryTreeLSTMBuilder::copy(const RNNBuilder& other) {
  const auto* from = dynamic_cast<const NaryTreeLSTMBuilder*>(&other);
  if (from == nullptr) {
    throw UsageError("[copy] need a NaryTreeLSTMBuilder; got another builder");
  }
  if (from->N != N) {
    throw UsageError("[copy] need a builder for " + std::to_string(N) + " children; got one for " +
                     std::to_string(from->N));
  }
  detail::copy_values(from->params, params);
  for (std::size_t layer = 0; layer < lparams.size(); ++layer) {
    for (std::size_t table = 0; table < kTables; ++table) {
      lparams[layer][table].p.peek()->copy(*from->lparams[layer][table].p.peek());
    }
  }
}

Expression NaryTreeLSTMBuilder::add_input(int id, std::vector<int> children, const Expression& x) {
  if (param_vars.empty()) throw UsageError("[add_input] need new_graph first; got no graph");
  const std::size_t node = checked_id(h, id);
  std::vector<Expression> outputs, cells;
  for (unsigned layer = 0; layer < layers; ++layer) {
    const CellState state =
        cell(layer, layer == 0 ? x : outputs.back(), states_of(children, layer));
    outputs.push_back(state.h);
    cells.push_back(state.c);
  }
  put(h, node, std::move(outputs));
  put(c, node, std::move(cells));
  return h[node].back();
}

NaryTreeLSTMBuilder::States NaryTreeLSTMBuilder::states_of(const std::vector<int>& children,
                                                           unsigned layer) const {
  States states;
  for (const int child : children) {
    states.push_back({checked_child(h, child)[layer], checked_child(c, child)[layer]});
  }
  if (children.empty() && has_initial_state) states.push_back({h0[layer], c0[layer]});
  return states;
}

CellState NaryTreeLSTMBuilder::cell(unsigned layer, const Expression& x, const States& children) {
  const std::vector<Expression>& w = param_vars[layer];
  const auto count = static_cast<unsigned>(children.size());
  constexpr unsigned kNone = kTables;
  // b + X x + the products of each child k with its weights, row_of(k) of the tables.
  const auto map = [&](unsigned x_weights, unsigned h_table, unsigned c_table, const auto& row_of) {
    std::vector<Expression> terms = {w[x_weights + 1], w[x_weights], x};
    for (unsigned k = 0; k < count; ++k) {
      const unsigned at = row_of(std::min(k, N - 1));
      terms.insert(terms.end(), {row(layer, h_table, at), children[k].h});
      if (c_table == kNone) continue;
      terms.insert(terms.end(), {row(layer, c_table, at), children[k].c});
    }
    return affine(terms);
  };
  const auto own = [](unsigned k) { return k; };
  const Expression i = logistic(map(X2I, H2I, C2I, own));
  std::vector<Expression> parts = {cmult(i, tanh(map(X2C, H2C, kNone, own)))};
  for (unsigned j = 0; j < count; ++j) {
    const auto of_gate = [&](unsigned k) { return k * N + std::min(j, N - 1); };
    const Expression f = logistic(map(X2F, H2F, C2F, of_gate) + 1.0f);
    parts.push_back(cmult(f, children[j].c));
  }
  const Expression c_new = sum(parts);
  const Expression o = logistic(map(X2O, H2O, C2O, own));
  return {cmult(o, tanh(c_new)), c_new};
}

// Looks a row up once per graph, so that products with it batch.
const Expression& NaryTreeLSTMBuilder::row(unsigned layer, unsigned table, unsigned row) {
  Expression& known = lparam_vars[layer][table][row];
  if (!is_read(known)) {
    dynet_like::ComputationGraph& graph = param_vars[layer][X2I].graph("NaryTreeLSTMBuilder");
    const LookupParameter& weights = lparams[layer][table];
    known = update_ ? lookup(graph, weights, row) : const_lookup(graph, weights, row);
  }
  return known;
}

namespace {

// Reads x, then the nodes in this order. Returns the last output.
Expression read_all(LSTMBuilder& builder, const Expression& x, std::span<const Expression> nodes) {
  Expression output = builder.add_input(-1, x);
  for (const Expression& node : nodes) output = builder.add_input(node);
  return output;
}

std::vector<Expression> children_of(const std::vector<Expression>& h,
                                    const std::vector<int>& children) {
  std::vector<Expression> result;
  for (const int child : children) result.push_back(checked_child(h, child));
  return result;
}

}  // namespace

UnidirectionalTreeLSTMBuilder::UnidirectionalTreeLSTMBuilder(unsigned layers, unsigned input_dim,
                                                             unsigned hidden_dim,
                                                             ParameterCollection& model)
    : local_model(model.add_subcollection("unidirectional-tree-lstm-builder")),
      node_builder(layers, input_dim, hidden_dim, local_model) {}

void UnidirectionalTreeLSTMBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  node_builder.new_graph(cg, update);
}
void UnidirectionalTreeLSTMBuilder::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  h.clear();
  node_builder.start_new_sequence(h_0);
}
void UnidirectionalTreeLSTMBuilder::set_num_elements(int length) { resize(h, length); }

Expression UnidirectionalTreeLSTMBuilder::add_input(int id, std::vector<int> children,
                                                    const Expression& x) {
  const std::size_t node = checked_id(h, id);
  put(h, node, read_all(node_builder, x, children_of(h, children)));
  return h[node];
}

BidirectionalTreeLSTMBuilder::BidirectionalTreeLSTMBuilder(unsigned layers, unsigned input_dim,
                                                           unsigned hidden_dim,
                                                           ParameterCollection& model)
    : local_model(model.add_subcollection("bidirectional-tree-lstm-builder")) {
  if (hidden_dim % 2 != 0) {
    throw UsageError("[BidirectionalTreeLSTMBuilder] need an even hidden_dim; got " +
                     std::to_string(hidden_dim));
  }
  fwd_node_builder = LSTMBuilder(layers, input_dim, hidden_dim / 2, local_model);
  rev_node_builder = LSTMBuilder(layers, input_dim, hidden_dim / 2, local_model);
}

void BidirectionalTreeLSTMBuilder::new_graph_impl(ComputationGraph& cg, bool update) {
  fwd_node_builder.new_graph(cg, update);
  rev_node_builder.new_graph(cg, update);
}
void BidirectionalTreeLSTMBuilder::start_new_sequence_impl(const std::vector<Expression>& h_0) {
  h.clear();
  fwd_node_builder.start_new_sequence(h_0);
  rev_node_builder.start_new_sequence(h_0);
}
void BidirectionalTreeLSTMBuilder::set_num_elements(int length) { resize(h, length); }

Expression BidirectionalTreeLSTMBuilder::add_input(int id, std::vector<int> children,
                                                   const Expression& x) {
  const std::size_t node = checked_id(h, id);
  std::vector<Expression> nodes = children_of(h, children);
  const Expression forward = read_all(fwd_node_builder, x, nodes);
  std::reverse(nodes.begin(), nodes.end());
  put(h, node, concatenate({forward, read_all(rev_node_builder, x, nodes)}));
  return h[node];
}

}  // namespace dynet

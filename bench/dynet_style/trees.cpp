// Models over trees, written for DyNet's headers: Tree-LSTMs and the Tree-GRU.
#include "bench/dynet_style/layers.h"
#include "bench/dynet_style/models.h"
#include "bench/models/workload.h"

using dynet_like::bench::BinaryTree;
using dynet_like::bench::DyNetModel;
using dynet_like::bench::kEmbedding;
using dynet_like::bench::kTreeData;
using std::string;
using std::vector;

namespace dynet_style {

namespace {

// Forget gates read both children.
struct TreeLSTM {
  vector<Parameter> p_W, p_l, p_r, p_b;

  TreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden) {
    const vector<string> gates = {"fl", "fr", "i", "o", "u"};
    ParameterCollection own = model.add_subcollection("tree_lstm");
    p_W = per_gate(own, "W", {"i", "o", "u"}, {hidden, inputs});
    p_l = per_gate(own, "U_left", gates, {hidden, hidden});
    p_r = per_gate(own, "U_right", gates, {hidden, hidden});
    p_b = per_gate(own, "b", gates, {hidden});
  }

  State leaf(const Expression& x, ComputationGraph& cg) const {
    const auto gate = [&](unsigned i) {
      return affine_transform({parameter(cg, p_b[2 + i]), parameter(cg, p_W[i]), x});
    };
    Expression i = logistic(gate(0)), o = logistic(gate(1)), u = tanh(gate(2));
    Expression c = cmult(i, u);
    return {cmult(o, tanh(c)), c};
  }
  State inner(const State& l, const State& r, ComputationGraph& cg) const {
    const auto gate = [&](unsigned i) {
      return affine_transform(
          {parameter(cg, p_b[i]), parameter(cg, p_l[i]), l.h, parameter(cg, p_r[i]), r.h});
    };
    Expression f_l = logistic(gate(0)), f_r = logistic(gate(1));
    Expression i = logistic(gate(2)), o = logistic(gate(3)), u = tanh(gate(4));
    Expression c = cmult(i, u) + cmult(f_l, l.c) + cmult(f_r, r.c);
    return {cmult(o, tanh(c)), c};
  }
};

// A forget gate reads only its own child.
struct OwnForgetTreeLSTM {
  vector<Parameter> p_W, p_l, p_r, p_b;
  Parameter p_Uf, p_bf;

  OwnForgetTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden) {
    const vector<string> gates = {"i", "o", "u"};
    ParameterCollection own = model.add_subcollection("tree_lstm");
    p_W = per_gate(own, "W", gates, {hidden, inputs});
    p_l = per_gate(own, "U_left", gates, {hidden, hidden});
    p_r = per_gate(own, "U_right", gates, {hidden, hidden});
    p_b = per_gate(own, "b", gates, {hidden});
    ParameterCollection forget = own.add_subcollection("forget");
    p_Uf = forget.add_parameters({hidden, hidden}, "W");
    p_bf = forget.add_parameters({hidden}, ParameterInitConst(0), "b");
  }

  State leaf(const Expression& x, ComputationGraph& cg) const {
    const auto gate = [&](unsigned i) {
      return affine_transform({parameter(cg, p_b[i]), parameter(cg, p_W[i]), x});
    };
    Expression i = logistic(gate(0)), o = logistic(gate(1)), u = tanh(gate(2));
    Expression c = cmult(i, u);
    return {cmult(o, tanh(c)), c};
  }
  State inner(const State& l, const State& r, ComputationGraph& cg) const {
    const auto gate = [&](unsigned i) {
      return affine_transform(
          {parameter(cg, p_b[i]), parameter(cg, p_l[i]), l.h, parameter(cg, p_r[i]), r.h});
    };
    const auto forget = [&](const Expression& h) {
      return logistic(affine_transform({parameter(cg, p_bf), parameter(cg, p_Uf), h}));
    };
    Expression i = logistic(gate(0)), o = logistic(gate(1)), u = tanh(gate(2));
    Expression f_l = forget(l.h), f_r = forget(r.h);
    Expression c = cmult(i, u) + cmult(f_l, l.c) + cmult(f_r, r.c);
    return {cmult(o, tanh(c)), c};
  }
};

// The children's states are added.
struct TreeGRU {
  GRU gru;

  TreeGRU(ParameterCollection& model, unsigned inputs, unsigned hidden)
      : gru(model, inputs, hidden, "tree_gru") {}

  State leaf(const Expression& x, ComputationGraph& cg) const {
    return {gru.step(gru.start(cg), x, cg), {}};
  }
  State inner(const State& l, const State& r, ComputationGraph& cg) const {
    return {gru.step_without_input(l.h + r.h, cg), {}};
  }
};

template <class Cell>
class TreeModel : public DyNetModel {
 public:
  explicit TreeModel(unsigned hidden)
      : trees_(make_trees(kTreeData)),
        p_e_(model.add_subcollection("embedding")
                 .add_lookup_parameters(kTreeData.vocabulary, {kEmbedding}, "E")),
        cell_(model, kEmbedding, hidden),
        output_(model, hidden, kTreeData.labels, "output") {}

  std::size_t size() const override { return trees_.size(); }
  std::size_t words(std::size_t instance) const override { return trees_[instance].nodes.size(); }

  Expression loss(ComputationGraph& cg, std::size_t instance) override {
    const auto& nodes = trees_[instance].nodes;
    vector<State> states(nodes.size());
    vector<Expression> losses(nodes.size());
    for (unsigned i = 0; i < nodes.size(); ++i) {
      const auto& node = nodes[i];
      states[i] = node.is_leaf() ? cell_.leaf(lookup(cg, p_e_, node.word), cg)
                                 : cell_.inner(states[node.left], states[node.right], cg);
      losses[i] = pickneglogsoftmax(output_.apply(states[i].h, cg), node.label);
    }
    return sum(losses);
  }

 private:
  vector<BinaryTree> trees_;
  LookupParameter p_e_;
  Cell cell_;
  Layer output_;
};

}  // namespace

}  // namespace dynet_style

namespace dynet_like::bench {

std::unique_ptr<DyNetModel> make_dynet_tree_lstm(unsigned hidden) {
  return std::make_unique<dynet_style::TreeModel<dynet_style::TreeLSTM>>(hidden);
}
std::unique_ptr<DyNetModel> make_dynet_tree_lstm_own_forget(unsigned hidden) {
  return std::make_unique<dynet_style::TreeModel<dynet_style::OwnForgetTreeLSTM>>(hidden);
}
std::unique_ptr<DyNetModel> make_dynet_tree_gru(unsigned hidden) {
  return std::make_unique<dynet_style::TreeModel<dynet_style::TreeGRU>>(hidden);
}

}  // namespace dynet_like::bench

// Tree-LSTM and Tree-GRU: a loss at every node of a binary tree.
#include <array>

#include "bench/models/models.h"
#include "bench/models/op_cells.h"
#include "nn/embedding.h"
#include "nn/gates.h"
#include "nn/gru.h"
#include "nn/linear.h"
#include "nn/tree_lstm.h"

namespace dynet_like {

namespace bench {
struct GRUState {
  Expression h;
};
}  // namespace bench
}  // namespace dynet_like

namespace dynet_like::bench {

namespace {

// Node by node. A cell has leaf(x) and inner(left, right), whose results have a member h.
template <class Cell>
class TreeWorkload : public Workload {
 public:
  TreeWorkload(unsigned hidden, const char* name)
      : trees_(make_trees(kTreeData)),
        embedding_(parameters_, kTreeData.vocabulary, kEmbedding),
        cell_(parameters_, kEmbedding, hidden, {.name = name}),
        output_(parameters_, hidden, kTreeData.labels, {.name = "output"}) {}

  std::size_t size() const override { return trees_.size(); }
  std::size_t words(std::size_t instance) const override { return trees_[instance].nodes.size(); }

  Expression loss(ComputationGraph& graph, std::size_t instance) const override {
    std::vector<typename Cell::State> states;
    std::vector<Expression> losses;
    for (const BinaryTree::Node& node : trees_[instance].nodes) {
      states.push_back(node.is_leaf() ? cell_.leaf(embedding_(graph, node.word))
                                      : cell_.inner(states[node.left], states[node.right]));
      losses.push_back(cross_entropy(output_(states.back().h), node.label));
    }
    return sum(losses);
  }

 private:
  std::vector<BinaryTree> trees_;
  nn::Embedding embedding_;
  Cell cell_;
  nn::Linear output_;
};

// The steps of a cell, each as one node by cell(f).
template <class Cell>
class StepsOf {
 public:
  using State = CellState;

  StepsOf(ParameterCollection& model, unsigned inputs, unsigned hidden,
          const nn::LayerOptions& options)
      : cell_(model, inputs, hidden, options) {}
  State leaf(const Expression& x) const { return leaf_(x); }
  State inner(const State& left, const State& right) const { return inner_(left, right); }

 private:
  Cell cell_;
  CellFunction<State(const Expression&)> leaf_{std::bind_front(&Cell::leaf, cell_), "leaf"};
  CellFunction<State(const State&, const State&)> inner_{std::bind_front(&Cell::inner, cell_),
                                                         "inner node"};
};

// A tree as one node. The cell has State, leaf(x) and inner(left, right).
template <class Cell>
class RecursiveTreeWorkload : public Workload {
 public:
  RecursiveTreeWorkload(unsigned hidden, const char* name)
      : embedding_(parameters_, kTreeData.vocabulary, kEmbedding),
        cell_(parameters_, kEmbedding, hidden, {.name = name}),
        output_(parameters_, hidden, kTreeData.labels, {.name = "output"}) {
    for (const BinaryTree& tree : make_trees(kTreeData)) trees_.push_back(sample_of(tree));
  }

  std::size_t size() const override { return trees_.size(); }
  std::size_t words(std::size_t instance) const override { return trees_[instance].labels.size(); }

  Expression loss(ComputationGraph& graph, std::size_t instance) const override {
    const Sample& tree = trees_[instance];
    const auto states = along_(tree.structure, embedding_.columns(graph, tree.words));
    return sum_batches(cross_entropy(output_(states.all().h), tree.labels));
  }

 private:
  using State = typename Cell::State;
  struct Sample {
    Structure structure;
    std::vector<std::uint32_t> words;
    std::vector<unsigned> labels;
  };

  static Sample sample_of(const BinaryTree& tree) {
    std::vector<Structure::Vertex> vertices(tree.nodes.size());
    std::vector<std::uint32_t> words;
    std::vector<unsigned> labels;
    for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
      const BinaryTree::Node& node = tree.nodes[i];
      labels.push_back(node.label);
      if (node.is_leaf()) {
        vertices[i].column = static_cast<unsigned>(words.size());
        words.push_back(node.word);
      } else {
        vertices[i].predecessors = {node.left, node.right};
      }
    }
    return {Structure(vertices), words, labels};
  }

  std::vector<Sample> trees_;
  nn::Embedding embedding_;
  Cell cell_;
  nn::Linear output_;
  Recursion<State> along_ = recursion<State>(
      [cell = cell_](const Expression& x, const std::vector<State>& children) -> State {
        return children.empty() ? cell.leaf(x) : cell.inner(children[0], children[1]);
      },
      "tree node");
};

// The cell of make_tree_lstm_own_forget, with joined products. A leaf is that of nn::TreeLSTM.
class OwnForgetTreeLSTM {
 public:
  using State = CellState;

  OwnForgetTreeLSTM(ParameterCollection& model, unsigned inputs, unsigned hidden,
                    const nn::LayerOptions& options)
      : hidden_(hidden),
        own_(model.add_subcollection(options.name)),
        leaf_weights_(nn::add_gate_weights(own_, 3, hidden, inputs, "W")),
        left_weights_(nn::add_gate_weights(own_, 3, hidden, hidden, "U_left")),
        right_weights_(nn::add_gate_weights(own_, 3, hidden, hidden, "U_right")),
        bias_(nn::add_gate_bias(own_, hidden, {0, 0, 0}, "b")),
        forget_(own_, hidden, hidden, {.name = "forget"}) {}
  State leaf(const Expression& x) const {
    const Expression xs[] = {leaf_weights_, x};
    return lstm_cell(bias_, xs, {});
  }
  State inner(const State& left, const State& right) const {
    const unsigned n = hidden_;
    const Expression sums =
        affine_transform({bias_, left_weights_, left.h, right_weights_, right.h});
    const Expression gates = sigmoid(pick_range(sums, 0, 2 * n));
    const Expression i = pick_range(gates, 0, n), o = pick_range(gates, n, 2 * n);
    const Expression u = tanh(pick_range(sums, 2 * n, 3 * n));
    const Expression f_left = sigmoid(forget_(left.h));
    const Expression f_right = sigmoid(forget_(right.h));
    const Expression c = cmult(i, u) + cmult(f_left, left.c) + cmult(f_right, right.c);
    return {cmult(o, tanh(c)), c};
  }

 private:
  unsigned hidden_;
  ParameterCollection own_;
  Parameter leaf_weights_, left_weights_, right_weights_, bias_;
  nn::Linear forget_;
};

template <class Workload>
class TreeLSTMWorkload : public Workload {
 public:
  explicit TreeLSTMWorkload(unsigned hidden) : Workload(hidden, "tree_lstm") {}
};

// A GRU as a cell of trees, which reads the sum of the children's states (Tai et al. 2015, section
// 3.1).
template <class Cell>
class ChildSum {
 public:
  using State = GRUState;

  ChildSum(ParameterCollection& model, unsigned inputs, unsigned hidden,
           const nn::LayerOptions& options)
      : cell_(model, inputs, hidden, options) {}
  State leaf(const Expression& x) const { return {cell_.step(cell_.start(*x.pg), x)}; }
  State inner(const State& left, const State& right) const {
    return {cell_.step_without_input(left.h + right.h)};
  }

 private:
  Cell cell_;
};

template <class Workload>
class TreeGRUWorkload : public Workload {
 public:
  explicit TreeGRUWorkload(unsigned hidden) : Workload(hidden, "tree_gru") {}
};

}  // namespace

std::unique_ptr<Workload> make_tree_lstm(unsigned hidden, Form form) {
  return make_form<TreeLSTMWorkload<RecursiveTreeWorkload<nn::TreeLSTM>>,
                   TreeLSTMWorkload<TreeWorkload<OpTreeLSTM>>,
                   TreeLSTMWorkload<TreeWorkload<StepsOf<OpTreeLSTM>>>>(hidden, form);
}

std::unique_ptr<Workload> make_tree_lstm_own_forget(unsigned hidden, Form form) {
  return make_form<TreeLSTMWorkload<RecursiveTreeWorkload<OwnForgetTreeLSTM>>,
                   TreeLSTMWorkload<TreeWorkload<OpOwnForgetTreeLSTM>>,
                   TreeLSTMWorkload<TreeWorkload<StepsOf<OpOwnForgetTreeLSTM>>>>(hidden, form);
}

std::unique_ptr<Workload> make_tree_gru(unsigned hidden, Form form) {
  return make_form<TreeGRUWorkload<RecursiveTreeWorkload<ChildSum<nn::GRU>>>,
                   TreeGRUWorkload<TreeWorkload<ChildSum<OpGRU>>>>(hidden, form);
}

}  // namespace dynet_like::bench

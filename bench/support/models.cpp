// Tree-LSTM, tagger and language model.
#include "bench/support/models.h"

#include "bench/support/data.h"
#include "nn/linear.h"
#include "nn/lstm.h"
#include "nn/tree_lstm.h"

namespace dynet_like::bench {

namespace {

constexpr unsigned kEmbedding = 128;

struct State {
  Expression h, c;
};

// One gate of a cell: a bias and a matrix for each of two inputs.
struct Gate {
  Gate(ParameterCollection& model, unsigned hidden, unsigned a, unsigned b)
      : bias(model.add_parameters({hidden}, ParameterInitConst(0))),
        left(model.add_parameters({hidden, a})),
        right(model.add_parameters({hidden, b})) {}
  Expression operator()(ComputationGraph& graph, const Expression& a, const Expression& b) const {
    return affine_transform(
        {parameter(graph, bias), parameter(graph, left), a, parameter(graph, right), b});
  }
  Expression operator()(ComputationGraph& graph, const Expression& a) const {
    return affine_transform({parameter(graph, bias), parameter(graph, left), a});
  }
  Parameter bias, left, right;
};

// Tai et al. (2015), one affine map and one nonlinearity per gate.
class TreeCell {
 public:
  TreeCell(ParameterCollection& model, unsigned hidden)
      : leaf_i_(model, hidden, kEmbedding, 1),
        leaf_o_(model, hidden, kEmbedding, 1),
        leaf_u_(model, hidden, kEmbedding, 1),
        i_(model, hidden, hidden, hidden),
        f_left_(model, hidden, hidden, hidden),
        f_right_(model, hidden, hidden, hidden),
        o_(model, hidden, hidden, hidden),
        u_(model, hidden, hidden, hidden) {}

  State leaf(ComputationGraph& graph, const Expression& x) const {
    const Expression i = logistic(leaf_i_(graph, x)), o = logistic(leaf_o_(graph, x));
    const Expression c = cmult(i, tanh(leaf_u_(graph, x)));
    return {cmult(o, tanh(c)), c};
  }
  State inner(ComputationGraph& graph, const State& l, const State& r) const {
    const Expression i = logistic(i_(graph, l.h, r.h)), o = logistic(o_(graph, l.h, r.h));
    const Expression fl = logistic(f_left_(graph, l.h, r.h));
    const Expression fr = logistic(f_right_(graph, l.h, r.h));
    const Expression u = tanh(u_(graph, l.h, r.h));
    const Expression c = cmult(i, u) + cmult(fl, l.c) + cmult(fr, r.c);
    return {cmult(o, tanh(c)), c};
  }

 private:
  Gate leaf_i_, leaf_o_, leaf_u_, i_, f_left_, f_right_, o_, u_;
};

class LstmCell {
 public:
  LstmCell(ParameterCollection& model, unsigned inputs, unsigned hidden)
      : hidden_(hidden),
        i_(model, hidden, inputs, hidden),
        f_(model, hidden, inputs, hidden),
        o_(model, hidden, inputs, hidden),
        u_(model, hidden, inputs, hidden) {}

  State start(ComputationGraph& graph) const {
    return {zeros(graph, Dim({hidden_})), zeros(graph, Dim({hidden_}))};
  }
  State step(ComputationGraph& graph, const State& before, const Expression& x) const {
    const Expression i = logistic(i_(graph, x, before.h)), f = logistic(f_(graph, x, before.h));
    const Expression o = logistic(o_(graph, x, before.h)), u = tanh(u_(graph, x, before.h));
    const Expression c = cmult(i, u) + cmult(f, before.c);
    return {cmult(o, tanh(c)), c};
  }

 private:
  unsigned hidden_;
  Gate i_, f_, o_, u_;
};

template <class Cell>
class TreeLstmWorkload : public Workload {
 public:
  explicit TreeLstmWorkload(unsigned hidden)
      : trees_(make_trees({})),
        table_(parameters_.add_lookup_parameters(10000, {kEmbedding})),
        cell_(make_cell(hidden)),
        output_(parameters_, hidden, 5, "output") {}

  std::size_t size() const override { return trees_.size(); }

  Expression loss(ComputationGraph& graph, std::size_t instance) const override {
    const BinaryTree& tree = trees_[instance];
    std::vector<decltype(cell_.leaf(graph, Expression()))> states;
    std::vector<Expression> losses;
    for (const BinaryTree::Node& node : tree.nodes) {
      states.push_back(node.is_leaf() ? cell_.leaf(graph, lookup(graph, table_, node.word))
                                      : cell_.inner(graph, states[node.left], states[node.right]));
      losses.push_back(pickneglogsoftmax(output_(graph, states.back().h), node.label));
    }
    return sum(losses);
  }

 private:
  Cell make_cell(unsigned hidden) {
    if constexpr (std::is_same_v<Cell, TreeCell>) {
      return Cell(parameters_, hidden);
    } else {
      return Cell(parameters_, kEmbedding, hidden);
    }
  }

  std::vector<BinaryTree> trees_;
  LookupParameter table_;
  Cell cell_;
  nn::Linear output_;
};

template <class Cell>
class TaggerWorkload : public Workload {
 public:
  explicit TaggerWorkload(unsigned hidden)
      : sentences_(make_sentences({20000, 9, 2})),
        table_(parameters_.add_lookup_parameters(20000, {kEmbedding})),
        forward_(parameters_, kEmbedding, hidden),
        backward_(parameters_, kEmbedding, hidden),
        hidden_layer_(parameters_, 2 * hidden, 32, "hidden"),
        output_(parameters_, 32, 9, "output") {}

  std::size_t size() const override { return sentences_.size(); }

  Expression loss(ComputationGraph& graph, std::size_t instance) const override {
    const Sentence& sentence = sentences_[instance];
    const std::size_t n = sentence.words.size();
    std::vector<Expression> words, left(n), right(n), losses;
    for (unsigned word : sentence.words) words.push_back(lookup(graph, table_, word));
    auto state = forward_.start(graph);
    for (std::size_t i = 0; i < n; ++i) {
      state = forward_.step(graph, state, words[i]);
      left[i] = state.h;
    }
    state = backward_.start(graph);
    for (std::size_t i = n; i-- > 0;) {
      state = backward_.step(graph, state, words[i]);
      right[i] = state.h;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Expression hidden = tanh(hidden_layer_(graph, concatenate({left[i], right[i]})));
      losses.push_back(pickneglogsoftmax(output_(graph, hidden), sentence.tags[i]));
    }
    return sum(losses);
  }

 private:
  std::vector<Sentence> sentences_;
  LookupParameter table_;
  Cell forward_, backward_;
  nn::Linear hidden_layer_, output_;
};

template <class Cell>
class LanguageModelWorkload : public Workload {
 public:
  explicit LanguageModelWorkload(unsigned hidden)
      : sentences_(make_sentences({10000, 9, 3})),
        table_(parameters_.add_lookup_parameters(10000, {hidden})),
        cell_(parameters_, hidden, hidden),
        output_(parameters_, hidden, 10000, "output") {}

  std::size_t size() const override { return sentences_.size(); }

  Expression loss(ComputationGraph& graph, std::size_t instance) const override {
    const std::vector<unsigned>& words = sentences_[instance].words;
    std::vector<Expression> losses;
    auto state = cell_.start(graph);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      state = cell_.step(graph, state, lookup(graph, table_, words[i]));
      losses.push_back(pickneglogsoftmax(output_(graph, state.h), words[i + 1]));
    }
    return sum(losses);
  }

 private:
  std::vector<Sentence> sentences_;
  LookupParameter table_;
  Cell cell_;
  nn::Linear output_;
};

}  // namespace

std::unique_ptr<Workload> make_tree_lstm(unsigned hidden, Form form) {
  if (form == Form::ops) return std::make_unique<TreeLstmWorkload<TreeCell>>(hidden);
  return std::make_unique<TreeLstmWorkload<nn::TreeLSTM>>(hidden);
}

std::unique_ptr<Workload> make_tagger(unsigned hidden, Form form) {
  if (form == Form::ops) return std::make_unique<TaggerWorkload<LstmCell>>(hidden);
  return std::make_unique<TaggerWorkload<nn::LSTM>>(hidden);
}

std::unique_ptr<Workload> make_language_model(unsigned hidden, Form form) {
  if (form == Form::ops) return std::make_unique<LanguageModelWorkload<LstmCell>>(hidden);
  return std::make_unique<LanguageModelWorkload<nn::LSTM>>(hidden);
}

}  // namespace dynet_like::bench

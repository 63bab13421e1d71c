// Models written against DyNet's headers.
#include "bench/dynet_style/models.h"

#include <stdexcept>
#include <vector>

#include "bench/models/workload.h"
#include "bench/support/data.h"

namespace {  // outside dynet_like, as programs for DyNet are

using namespace dynet;
using dynet_like::bench::BinaryTree;
using dynet_like::bench::DyNetModel;
using dynet_like::bench::kCharacters;
using dynet_like::bench::kEmbedding;
using dynet_like::bench::kTaggerData;
using dynet_like::bench::kTreeData;
using dynet_like::bench::Sentence;
using std::string;
using std::vector;

struct Layer {
  Parameter p_W, p_b;

  Layer(ParameterCollection& model, unsigned inputs, unsigned outputs, const string& name) {
    ParameterCollection own = model.add_subcollection(name);
    p_W = own.add_parameters({outputs, inputs}, "W");
    p_b = own.add_parameters({outputs}, ParameterInitConst(0), "b");
  }
  Expression apply(const Expression& x, ComputationGraph& cg) const {
    return affine_transform({parameter(cg, p_b), parameter(cg, p_W), x});
  }
};

vector<Parameter> per_gate(ParameterCollection& model, const string& name,
                           const vector<string>& gates, const Dim& dim) {
  vector<Parameter> parameters;
  for (const string& gate : gates) {
    parameters.push_back(model.add_parameters(dim, name + "_" + gate));
  }
  return parameters;
}

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

  void leaf(const Expression& x, Expression& h, Expression& c, ComputationGraph& cg) const {
    const auto gate = [&](unsigned i) {
      return affine_transform({parameter(cg, p_b[2 + i]), parameter(cg, p_W[i]), x});
    };
    Expression i = logistic(gate(0)), o = logistic(gate(1)), u = tanh(gate(2));
    c = cmult(i, u);
    h = cmult(o, tanh(c));
  }
  void inner(const Expression& h_l, const Expression& c_l, const Expression& h_r,
             const Expression& c_r, Expression& h, Expression& c, ComputationGraph& cg) const {
    const auto gate = [&](unsigned i) {
      return affine_transform(
          {parameter(cg, p_b[i]), parameter(cg, p_l[i]), h_l, parameter(cg, p_r[i]), h_r});
    };
    Expression f_l = logistic(gate(0)), f_r = logistic(gate(1));
    Expression i = logistic(gate(2)), o = logistic(gate(3)), u = tanh(gate(4));
    c = cmult(i, u) + cmult(f_l, c_l) + cmult(f_r, c_r);
    h = cmult(o, tanh(c));
  }
};

class TreeModel : public DyNetModel {
 public:
  explicit TreeModel(unsigned hidden)
      : trees_(dynet_like::bench::make_trees(kTreeData)),
        p_e_(model.add_subcollection("embedding")
                 .add_lookup_parameters(kTreeData.vocabulary, {kEmbedding}, "E")),
        cell_(model, kEmbedding, hidden),
        output_(model, hidden, kTreeData.labels, "output") {}

  std::size_t size() const override { return trees_.size(); }
  std::size_t words(std::size_t instance) const override { return trees_[instance].nodes.size(); }

  Expression loss(ComputationGraph& cg, std::size_t instance) override {
    const auto& nodes = trees_[instance].nodes;
    vector<Expression> h(nodes.size()), c(nodes.size()), losses(nodes.size());
    for (unsigned i = 0; i < nodes.size(); ++i) {
      const auto& node = nodes[i];
      if (node.is_leaf()) {
        cell_.leaf(lookup(cg, p_e_, node.word), h[i], c[i], cg);
      } else {
        cell_.inner(h[node.left], c[node.left], h[node.right], c[node.right], h[i], c[i], cg);
      }
      losses[i] = pickneglogsoftmax(output_.apply(h[i], cg), node.label);
    }
    return sum(losses);
  }

 private:
  vector<BinaryTree> trees_;
  LookupParameter p_e_;
  TreeLSTM cell_;
  Layer output_;
};

struct LSTM {
  unsigned hidden;
  vector<Parameter> p_W, p_U, p_b;
  Expression h, c;

  LSTM(ParameterCollection& model, unsigned inputs, unsigned hidden, const string& name)
      : hidden(hidden) {
    const vector<string> gates = {"f", "i", "o", "u"};
    ParameterCollection own = model.add_subcollection(name);
    p_W = per_gate(own, "W", gates, {hidden, inputs});
    p_U = per_gate(own, "U", gates, {hidden, hidden});
    p_b = per_gate(own, "b", gates, {hidden});
  }
  void start(ComputationGraph& cg) {
    h = zeros(cg, {hidden});
    c = zeros(cg, {hidden});
  }
  Expression add_input(const Expression& x, ComputationGraph& cg) {
    const auto gate = [&](unsigned i) {
      return affine_transform(
          {parameter(cg, p_b[i]), parameter(cg, p_W[i]), x, parameter(cg, p_U[i]), h});
    };
    Expression f = logistic(gate(0)), i = logistic(gate(1)), o = logistic(gate(2));
    c = cmult(i, tanh(gate(3))) + cmult(f, c);
    return h = cmult(o, tanh(c));
  }
};

class TaggerModel : public DyNetModel {
 public:
  explicit TaggerModel(unsigned hidden)
      : sentences_(dynet_like::bench::make_sentences(kTaggerData)),
        p_e_(model.add_subcollection("embedding")
                 .add_lookup_parameters(kTaggerData.vocabulary, {kEmbedding}, "E")),
        forward_(model, kEmbedding, hidden, "forward"),
        backward_(model, kEmbedding, hidden, "backward"),
        hidden_(model, 2 * hidden, 32, "hidden"),
        output_(model, 32, kTaggerData.labels, "output") {}

  std::size_t size() const override { return sentences_.size(); }
  std::size_t words(std::size_t instance) const override {
    return sentences_[instance].words.size();
  }

  Expression loss(ComputationGraph& cg, std::size_t instance) override {
    const Sentence& sentence = sentences_[instance];
    const unsigned n = static_cast<unsigned>(sentence.words.size());
    vector<Expression> x(n), left(n), both(n), losses(n);
    for (unsigned i = 0; i < n; ++i) x[i] = word(sentence.words[i], cg);
    forward_.start(cg);
    for (unsigned i = 0; i < n; ++i) left[i] = forward_.add_input(x[i], cg);
    backward_.start(cg);
    for (unsigned i = n; i-- > 0;) {
      both[i] = concatenate({left[i], backward_.add_input(x[i], cg)});
    }
    for (unsigned i = 0; i < n; ++i) {
      const Expression scores = output_.apply(tanh(hidden_.apply(both[i], cg)), cg);
      losses[i] = pickneglogsoftmax(scores, sentence.tags[i]);
    }
    return sum(losses);
  }

 protected:
  virtual Expression word(unsigned w, ComputationGraph& cg) { return lookup(cg, p_e_, w); }

  vector<Sentence> sentences_;

 private:
  LookupParameter p_e_;
  LSTM forward_, backward_;
  Layer hidden_, output_;
};

class CharTaggerModel : public TaggerModel {
 public:
  explicit CharTaggerModel(unsigned hidden)
      : TaggerModel(hidden),
        spellings_(dynet_like::bench::make_spellings(kTaggerData)),
        counts_(dynet_like::bench::count_words(sentences_, kTaggerData.vocabulary)),
        p_c_(model.add_subcollection("characters").add_lookup_parameters(kCharacters, {20}, "E")),
        forward_(model, 20, kEmbedding / 2, "char_forward"),
        backward_(model, 20, kEmbedding / 2, "char_backward") {}

 private:
  Expression word(unsigned w, ComputationGraph& cg) override {
    if (counts_[w] > dynet_like::bench::kRareCount) return TaggerModel::word(w, cg);
    const vector<unsigned>& spelling = spellings_[w];
    const std::size_t n = spelling.size();
    vector<Expression> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = lookup(cg, p_c_, spelling[i]);
    forward_.start(cg);
    backward_.start(cg);
    for (std::size_t i = 0; i < n; ++i) {
      forward_.add_input(x[i], cg);
      backward_.add_input(x[n - 1 - i], cg);
    }
    return concatenate({forward_.h, backward_.h});
  }

  vector<vector<unsigned>> spellings_;
  vector<unsigned> counts_;
  LookupParameter p_c_;
  LSTM forward_, backward_;
};

}  // namespace

std::unique_ptr<DyNetModel> dynet_like::bench::make_dynet_model(const std::string& name,
                                                                unsigned hidden) {
  if (name == "tree_lstm") return std::make_unique<TreeModel>(hidden);
  if (name == "tagger") return std::make_unique<TaggerModel>(hidden);
  if (name == "char_tagger") return std::make_unique<CharTaggerModel>(hidden);
  throw std::invalid_argument("there is no model \"" + name + "\"");
}

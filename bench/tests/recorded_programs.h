// Programs that write their cells op by op, for tests of what is found in them.
#pragma once

#include <functional>
#include <vector>

#include "bench/models/op_cells.h"
#include "bench/support/data.h"
#include "dynet_like/dynet_like.h"

namespace dynet_like::bench {

using RecordSample = std::function<void(ComputationGraph& graph, unsigned sample)>;

/// Neither it nor a few times it is the width of another layer, which could make types of one.
constexpr unsigned kProgramHidden = 12;
constexpr unsigned kProgramInputs = 7;

/// W x + b, in one node or two.
class ProgramLayer {
 public:
  ProgramLayer(ParameterCollection& model, unsigned inputs, unsigned outputs, bool affine = true)
      : weights_(model.add_parameters({outputs, inputs})),
        bias_(model.add_parameters({outputs})),
        affine_(affine) {}

  Expression operator()(const Expression& x) const {
    ComputationGraph& graph = *x.pg;
    if (affine_) return affine_transform({parameter(graph, bias_), parameter(graph, weights_), x});
    return parameter(graph, bias_) + parameter(graph, weights_) * x;
  }

 private:
  Parameter weights_, bias_;
  bool affine_;
};

/// Tree-LSTMs whose forget gates see their own child, as in DyNet's benchmark; with a forget gate
/// per child, or one for both (Tai et al. 2015, sections 3.1 and 3.2).
class OwnForgets {
 public:
  OwnForgets(bool affine, bool one_forget) : affine_(affine), one_forget_(one_forget) {}

  void operator()(ComputationGraph& graph, unsigned sample) {
    std::vector<Expression> h, c, losses;
    for (const BinaryTree::Node& node : trees_[sample].nodes) {
      if (node.is_leaf()) {
        const Expression x = lookup(graph, words_, node.word);
        const Expression i = logistic(leaf_i_(x));
        const Expression o = logistic(leaf_o_(x));
        c.push_back(cmult(i, tanh(leaf_u_(x))));
        h.push_back(cmult(o, tanh(c.back())));
      } else {
        const Expression x = concatenate({h[node.left], h[node.right]});
        const Expression i = logistic(i_(x));
        const Expression left = logistic(left_(h[node.left]));
        const Expression right = logistic((one_forget_ ? left_ : right_)(h[node.right]));
        const Expression o = logistic(o_(x));
        c.push_back(cmult(i, tanh(u_(x))) + cmult(left, c[node.left]) +
                    cmult(right, c[node.right]));
        h.push_back(cmult(o, tanh(c.back())));
      }
      losses.push_back(pickneglogsoftmax(output_(h.back()), node.label));
    }
    sum(losses);
  }

 private:
  ProgramLayer layer(unsigned inputs) { return {model_, inputs, kProgramHidden, affine_}; }

  std::vector<BinaryTree> trees_ = make_trees(kTreeData);
  bool affine_, one_forget_;
  ParameterCollection model_;
  LookupParameter words_ = model_.add_lookup_parameters(kTreeData.vocabulary, {kProgramInputs});
  ProgramLayer leaf_i_ = layer(kProgramInputs), leaf_o_ = layer(kProgramInputs),
               leaf_u_ = layer(kProgramInputs);
  ProgramLayer i_ = layer(2 * kProgramHidden), o_ = layer(2 * kProgramHidden),
               u_ = layer(2 * kProgramHidden);
  ProgramLayer left_ = layer(kProgramHidden), right_ = layer(kProgramHidden);
  ProgramLayer output_{model_, kProgramHidden, kTreeData.labels};
};

/// Programs that read sentences.
class SentenceProgram {
 protected:
  std::vector<Sentence> sentences_ = make_sentences(kTaggerData);
  ParameterCollection model_;
  LookupParameter words_ = model_.add_lookup_parameters(kTaggerData.vocabulary, {kProgramInputs});
};

/// A GRU reads a sentence, which then gets a label.
class GRUClassifier : SentenceProgram {
 public:
  void operator()(ComputationGraph& graph, unsigned sample) {
    Expression h = gru_.start(graph);
    for (const unsigned word : sentences_[sample].words) {
      h = gru_.step(h, lookup(graph, words_, word));
    }
    pickneglogsoftmax(output_(h), sample % 5);
  }

 private:
  OpGRU gru_{model_, kProgramInputs, kProgramHidden, "gru"};
  ProgramLayer output_{model_, kProgramHidden, 5};
};

/// A tagger whose first step has no state before it, and so other ops.
class ShortFirstStep : SentenceProgram {
 public:
  void operator()(ComputationGraph& graph, unsigned sample) {
    const Sentence& sentence = sentences_[sample];
    Expression h, c;
    std::vector<Expression> losses;
    for (std::size_t step = 0; step < sentence.words.size(); ++step) {
      const Expression x = lookup(graph, words_, sentence.words[step]);
      const bool is_first = step == 0;
      const Expression i = logistic(is_first ? x_i_(x) : i_(concatenate({x, h})));
      const Expression o = logistic(is_first ? x_o_(x) : o_(concatenate({x, h})));
      const Expression u = tanh(is_first ? x_u_(x) : u_(concatenate({x, h})));
      const Expression old = is_first ? c : cmult(1.0f - i, c);
      c = cmult(i, u);
      if (!is_first) c = c + old;
      h = cmult(o, tanh(c));
      losses.push_back(pickneglogsoftmax(output_(h), sentence.tags[step]));
    }
    sum(losses);
  }

 private:
  ProgramLayer layer(unsigned inputs) { return {model_, inputs, kProgramHidden}; }

  static constexpr unsigned kBoth = kProgramInputs + kProgramHidden;
  ProgramLayer x_i_ = layer(kProgramInputs), x_o_ = layer(kProgramInputs),
               x_u_ = layer(kProgramInputs);
  ProgramLayer i_ = layer(kBoth), o_ = layer(kBoth), u_ = layer(kBoth);
  ProgramLayer output_{model_, kProgramHidden, kTaggerData.labels};
};

/// Reads a sentence and writes its tags, with attention to all that was read.
class Attention : SentenceProgram {
 public:
  void operator()(ComputationGraph& graph, unsigned sample) {
    const Sentence& sentence = sentences_[sample];
    std::vector<Expression> read, losses;
    OpLSTM::State state = reader_.start(graph);
    for (const unsigned word : sentence.words) {
      state = reader_.step(state, lookup(graph, words_, word));
      read.push_back(state.h);
    }
    const Expression all = concatenate_cols(read);
    const Expression keys = transpose(all);
    state = writer_.start(graph);
    Expression context = zeros(graph, Dim({kProgramHidden}));
    for (const unsigned tag : sentence.tags) {
      const Expression x = lookup(graph, tags_, tag);
      state = writer_.step(state, concatenate({x, context}));
      const Expression query = query_(state.h);
      context = all * softmax(keys * query);
      const Expression both = tanh(combine_(concatenate({state.h, context})));
      losses.push_back(pickneglogsoftmax(output_(both), tag));
    }
    sum(losses);
  }

 private:
  static constexpr unsigned kTagSize = 5, kCombined = 11;
  LookupParameter tags_ = model_.add_lookup_parameters(kTaggerData.labels, {kTagSize});
  OpLSTM reader_{model_, kProgramInputs, kProgramHidden, "reader"};
  OpLSTM writer_{model_, kTagSize + kProgramHidden, kProgramHidden, "writer"};
  ProgramLayer query_{model_, kProgramHidden, kProgramHidden};
  ProgramLayer combine_{model_, 2 * kProgramHidden, kCombined};
  ProgramLayer output_{model_, kCombined, kTaggerData.labels};
};

}  // namespace dynet_like::bench

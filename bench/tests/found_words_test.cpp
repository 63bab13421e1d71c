// The words that are found in the benchmark's models, written op by op.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <string>

#include "batching/dag_builder.h"
#include "batching/find_words.h"
#include "batching/lower_bound.h"
#include "batching/place_words.h"
#include "bench/models/models.h"
#include "bench/models/op_cells.h"
#include "bench/support/data.h"

namespace dynet_like::bench {
namespace {

namespace b = dynet_like::batching;

constexpr unsigned kSamples = 64;
constexpr unsigned kHidden = 12;  ///< neither it nor a few times it is the width of another layer

/// The types of a minibatch's nodes; those that are computed once for all samples are left out.
struct Recorded {
  std::vector<std::uint32_t> types, begin{0};
  std::vector<b::TypeFacts> facts;
  std::vector<std::string> names;
};

template <class RecordSample>
Recorded record(RecordSample&& record_sample) {
  Minibatch batch;
  for (unsigned i = 0; i < kSamples; ++i) record_sample(batch.new_graph(), i);
  Recorded recorded;
  b::DagBuilder dag;
  for (unsigned i = 0; i < kSamples; ++i) {
    const Tape& tape = batch.graph(i).tape();
    std::vector<std::uint32_t> node(tape.size()), inputs;
    for (NodeId id = 0; id < tape.size(); ++id) {
      if (tape.value(tape.node(id).value).identity != 0) continue;
      inputs.clear();
      for (const ValueId input : tape.inputs_of(id)) {
        if (tape.value(input).identity == 0) inputs.push_back(node[tape.value(input).node]);
      }
      node[id] = dag.add(tape.node(id).type, inputs);
      recorded.types.push_back(tape.node(id).type);
    }
    recorded.begin.push_back(static_cast<std::uint32_t>(recorded.types.size()));
  }
  const TypeTable& types = batch.graph(0).tape().types();
  const std::vector<std::uint32_t> chains = b::longest_chains(dag.dag());
  std::map<std::string, unsigned> same;
  for (TypeId t = 0; t < chains.size(); ++t) {
    const NodeType& type = types[t];
    const bool costly = type.has_shared_input || type.signature.integers > 0;
    recorded.facts.push_back({chains[t], costly ? 1.0f : 0.1f, type.inputs > 0});
    recorded.names.push_back(std::string(type.op->name) + std::to_string(t) + "/" +
                             std::to_string(chains[t]));
  }
  return recorded;
}

void show(const Recorded& recorded) {
  const b::Words words = b::find_words(recorded.types, recorded.begin, recorded.facts);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) b::find_words(recorded.types, recorded.begin, recorded.facts);
  printf("%.1f ns a node ", std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count() / 10 / double(recorded.types.size()));
  std::vector<unsigned> seen(words.words.size());
  std::size_t tokens = 0;
  std::map<std::string, unsigned> alone;
  for (unsigned s = 0; s < kSamples; ++s) {
    const auto sample = std::span(recorded.types)
                            .subspan(recorded.begin[s], recorded.begin[s + 1] - recorded.begin[s]);
    const auto places = b::place_words(sample, words);
    for (std::uint32_t i = 0; i < places.size(); ++i) {
      if (places[i].first != i) continue;
      ++tokens;
      if (places[i].word != b::Place::alone)
        ++seen[places[i].word];
      else
        ++alone[recorded.names[sample[i]]];
    }
  }
  printf("%zu nodes, %zu tokens\n", recorded.types.size(), tokens);
  for (std::size_t w = 0; w < words.words.size(); ++w) {
    printf("  %5u (%zu)", seen[w], words.words[w].size());
    for (auto t : words.words[w]) printf(" %s", recorded.names[t].c_str());
    printf("\n");
  }
  printf("  loose:");
  for (std::size_t t = 0; t < words.loose.size(); ++t)
    if (words.loose[t] && recorded.facts[t].foldable) printf(" %s", recorded.names[t].c_str());
  printf("\n  alone:");
  int shown = 0;
  for (auto& [name, n] : alone)
    if (n > 20 || ++shown < 6) printf(" %u*%s", n, name.c_str());
  printf("\n");
}

class Map {
 public:
  Map(ParameterCollection& model, unsigned inputs, unsigned outputs, bool affine = true)
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

// Trees whose forget gates see their own child, as in DyNet's benchmark.
class OwnForgets {
 public:
  OwnForgets(bool affine, bool one_forget = false)
      : trees_(make_trees(kTreeData)), affine_(affine), one_forget_(one_forget) {}
  void operator()(ComputationGraph& graph, unsigned sample) {
    std::vector<Expression> h, c, losses;
    for (const BinaryTree::Node& node : trees_[sample].nodes) {
      if (node.is_leaf()) {
        const Expression x = lookup(graph, words_, node.word);
        const Expression i = logistic(leaf_i_(x)), o = logistic(leaf_o_(x)), u = tanh(leaf_u_(x));
        c.push_back(cmult(i, u));
        h.push_back(cmult(o, tanh(c.back())));
      } else {
        const Expression x = concatenate({h[node.left], h[node.right]});
        const Expression i = logistic(i_(x));
        const Expression f_l = logistic(f_l_(h[node.left]));
        const Expression f_r = logistic((one_forget_ ? f_l_ : f_r_)(h[node.right]));
        const Expression o = logistic(o_(x));
        const Expression u = tanh(u_(x));
        const Expression iu = cmult(i, u), l = cmult(f_l, c[node.left]),
                         r = cmult(f_r, c[node.right]);
        c.push_back(iu + l + r);
        h.push_back(cmult(o, tanh(c.back())));
      }
      losses.push_back(pickneglogsoftmax(output_(h.back()), node.label));
    }
    sum(losses);
  }

 private:
  std::vector<BinaryTree> trees_;
  bool affine_, one_forget_;
  ParameterCollection model_;
  LookupParameter words_ = model_.add_lookup_parameters(kTreeData.vocabulary, {7});
  Map leaf_i_{model_, 7, kHidden, affine_}, leaf_o_{model_, 7, kHidden, affine_},
      leaf_u_{model_, 7, kHidden, affine_};
  Map i_{model_, 2 * kHidden, kHidden, affine_}, o_{model_, 2 * kHidden, kHidden, affine_},
      u_{model_, 2 * kHidden, kHidden, affine_};
  Map f_l_{model_, kHidden, kHidden, affine_}, f_r_{model_, kHidden, kHidden, affine_};
  Map output_{model_, kHidden, 5};
};

// A classifier of sentences.
class GRUClassifier {
 public:
  void operator()(ComputationGraph& graph, unsigned sample) {
    Expression h = gru_.start(graph);
    for (const unsigned word : sentences_[sample].words)
      h = gru_.step(graph, h, lookup(graph, words_, word));
    pickneglogsoftmax(output_(h), sample % 5);
  }

 private:
  std::vector<Sentence> sentences_ = make_sentences(kTaggerData);
  ParameterCollection model_;
  LookupParameter words_ = model_.add_lookup_parameters(kTaggerData.vocabulary, {7});
  OpGRU gru_{model_, 7, kHidden, "gru"};
  Map output_{model_, kHidden, 5};
};

// A language model whose first step has no state before it.
class FirstStep {
 public:
  void operator()(ComputationGraph& graph, unsigned sample) {
    Expression h, c;
    std::vector<Expression> losses;
    for (const unsigned word : sentences_[sample].words) {
      if (!losses.empty() || true) {
        const Expression e = lookup(graph, words_, word);
        const auto gate = [&](unsigned g) {
          return losses.empty()
                     ? affine_transform({parameter(graph, b_[g]), parameter(graph, w_[g]), e})
                     : affine_transform({parameter(graph, b_[g]), parameter(graph, w_[g]), e,
                                         parameter(graph, u_[g]), h});
        };
        const Expression i = logistic(gate(0)), o = logistic(gate(1)), u = tanh(gate(2));
        if (losses.empty()) {
          c = cmult(i, u);
        } else {
          const Expression f = logistic(gate(3));
          const Expression iu = cmult(i, u);
          c = iu + cmult(f, c);
        }
        h = cmult(o, tanh(c));
        losses.push_back(pickneglogsoftmax(output_(h), word % 5));
      }
    }
    sum(losses);
  }

 private:
  std::vector<Sentence> sentences_ = make_sentences(kTaggerData);
  ParameterCollection model_;
  LookupParameter words_ = model_.add_lookup_parameters(kTaggerData.vocabulary, {7});
  std::vector<Parameter> w_{
      model_.add_parameters({kHidden, 7}), model_.add_parameters({kHidden, 7}),
      model_.add_parameters({kHidden, 7}), model_.add_parameters({kHidden, 7})},
      b_{model_.add_parameters({kHidden}), model_.add_parameters({kHidden}),
         model_.add_parameters({kHidden}), model_.add_parameters({kHidden})};
  std::vector<Parameter> u_{
      model_.add_parameters({kHidden, kHidden}), model_.add_parameters({kHidden, kHidden}),
      model_.add_parameters({kHidden, kHidden}), model_.add_parameters({kHidden, kHidden})};
  Map output_{model_, kHidden, 5};
};

// Reads a sentence and writes its tags, with attention to what was read.
class Attention {
 public:
  void operator()(ComputationGraph& graph, unsigned sample) {
    const Sentence& sentence = sentences_[sample];
    std::vector<Expression> read, losses;
    OpLSTM::State state = reader_.start(graph);
    for (const unsigned word : sentence.words) {
      state = reader_.step(graph, state, lookup(graph, words_, word));
      read.push_back(state.h);
    }
    const Expression all = concatenate_cols(read);
    OpLSTM::State out = writer_.start(graph);
    Expression context = zeros(graph, Dim({kHidden}));
    for (const unsigned tag : sentence.tags) {
      out = writer_.step(graph, out, concatenate({lookup(graph, tags_, tag), context}));
      const Expression weights = softmax(transpose(all) * query_(out.h));
      context = all * weights;
      const Expression both = tanh(combine_(concatenate({out.h, context})));
      losses.push_back(pickneglogsoftmax(output_(both), tag));
    }
    sum(losses);
  }

 private:
  std::vector<Sentence> sentences_ = make_sentences(kTaggerData);
  ParameterCollection model_;
  LookupParameter words_ = model_.add_lookup_parameters(kTaggerData.vocabulary, {7});
  LookupParameter tags_ = model_.add_lookup_parameters(kTaggerData.labels, {5});
  OpLSTM reader_{model_, 7, kHidden, "reader"}, writer_{model_, 5 + kHidden, kHidden, "writer"};
  Map query_{model_, kHidden, kHidden}, combine_{model_, 2 * kHidden, 11},
      output_{model_, 11, kTaggerData.labels};
};

TEST(FoundWords, Others) {
  printf("own forgets, affine ");
  show(record(OwnForgets(true)));
  printf("own forgets, sums ");
  show(record(OwnForgets(false)));
  printf("one forget, affine ");
  show(record(OwnForgets(true, true)));
  printf("one forget, sums ");
  show(record(OwnForgets(false, true)));
  printf("gru ");
  show(record(GRUClassifier()));
  printf("first ");
  show(record(FirstStep()));
  printf("attention ");
  show(record(Attention()));
}

TEST(FoundWords, All) {
  for (const ModelKind& model : all_models()) {
    printf("%s ops: ", model.name);
    const auto ops = model.make(kHidden, Form::ops);
    show(record([&](ComputationGraph& g, unsigned i) { ops->loss(g, i); }));
    printf("%s fused: ", model.name);
    const auto fused = model.make(kHidden, Form::fused);
    show(record([&](ComputationGraph& g, unsigned i) { fused->loss(g, i); }));
  }
}

}  // namespace
}  // namespace dynet_like::bench

// A Transformer tagger whose attention and layer normalisation are written in two ways.
#pragma once

#include <cmath>
#include <vector>

#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace dynet_like::bench::transformer {

constexpr unsigned kSize = 128, kHidden = 256, kHeads = 4, kLayers = 2, kTags = 17;
constexpr unsigned kWords = 5000, kLongest = 512;

/// Layer normalisation and attention as ops of their own.
struct OneOp {
  static Expression norm(const Expression& x, const Expression& g, const Expression& b) {
    return layer_norm(x, g, b);
  }
  static Expression attend(const Expression& q, const Expression& k, const Expression& v) {
    return attention(q, k, v, {.heads = kHeads});
  }
};

/// The same, composed of other operations.
struct OtherOps {
  static Expression norm(const Expression& x, const Expression& g, const Expression& b) {
    const Dim means({1, x.dim().cols()});
    const Expression centred = x - reshape(mean_dim(x, {0}), means);
    const Expression deviation = sqrt(mean_dim(square(centred), {0}));
    return cmult(cdiv(centred, reshape(deviation, means)), g) + b;
  }
  static Expression attend(const Expression& q, const Expression& k, const Expression& v) {
    constexpr unsigned kRows = kSize / kHeads;
    std::vector<Expression> heads;
    for (unsigned first = 0; first < kSize; first += kRows) {
      const auto own = [first](const Expression& x) { return pick_range(x, first, first + kRows); };
      const Expression scores = transpose(own(k)) * own(q) / std::sqrt(float(kRows));
      heads.push_back(own(v) * softmax(scores));
    }
    return concatenate(heads);
  }
};

/// nn::TransformerEncoderLayer with normalisation first.
struct TransformerLayer {
  explicit TransformerLayer(ParameterCollection& model)
      : query(model, kSize, kSize),
        key(model, kSize, kSize),
        value(model, kSize, kSize),
        output(model, kSize, kSize),
        network(model, kSize, {kHidden, kSize}) {
    for (Norm& norm : norms) norm = Norm(model);
  }

  template <class Ops>
  Expression apply(const Expression& x) const {
    const Expression a = norms[0].apply<Ops>(x);
    const Expression y = x + output(Ops::attend(query(a), key(a), value(a)));
    return y + network(norms[1].apply<Ops>(y));
  }

  struct Norm {
    Norm() = default;
    explicit Norm(ParameterCollection& model)
        : g(model.add_parameters({kSize}, ParameterInitConst(1))),
          b(model.add_parameters({kSize}, ParameterInitConst(0))) {}
    template <class Ops>
    Expression apply(const Expression& x) const {
      return Ops::norm(x, g, b);
    }
    Parameter g, b;
  };

  nn::Linear query, key, value, output;
  nn::MLP network;
  Norm norms[2];
};

/// Tags the words of a sentence. Words and tags depend only on the sentence's length.
struct TransformerTagger {
  TransformerTagger() {
    for (unsigned i = 0; i < kLayers; ++i) layers.emplace_back(model);
  }

  /// Returns a loss per word.
  template <class Ops>
  Expression loss(ComputationGraph& graph, unsigned words) const {
    std::vector<unsigned> word(words), tag(words);
    for (unsigned i = 0; i < words; ++i) {
      word[i] = (words * 31 + i) * 7919 % kWords;
      tag[i] = word[i] % kTags;
    }
    Expression x = positions(embedding.columns(graph, word));
    for (const TransformerLayer& layer : layers) x = layer.apply<Ops>(x);
    const Expression scores = output(norm.apply<Ops>(x));
    return cross_entropy(scores, tag);
  }

  ParameterCollection model{1};
  nn::Embedding embedding{model, kWords, kSize};
  nn::SinusoidalPositions positions{kLongest, kSize};
  std::vector<TransformerLayer> layers;
  TransformerLayer::Norm norm{model};
  nn::Linear output{model, kSize, kTags};
};

/// Records a minibatch of sentences of these lengths.
template <class Ops>
void record(Minibatch& batch, const TransformerTagger& tagger,
            const std::vector<unsigned>& lengths) {
  batch.clear();
  for (const unsigned words : lengths) batch.add_loss(tagger.loss<Ops>(batch.new_graph(), words));
}

/// The nodes that forward runs.
template <class Ops>
Report explain(const TransformerTagger& tagger, const std::vector<unsigned>& lengths) {
  Minibatch batch;
  record<Ops>(batch, tagger, lengths);
  batch.forward();
  return batch.explain();
}

}  // namespace dynet_like::bench::transformer

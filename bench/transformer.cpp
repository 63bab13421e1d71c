// A Transformer tagger. Do sentences of different lengths share batches, and how much faster does
// it train with the ops `attention` and `layer_norm` than composed of other operations?
#include <fmt/core.h>

#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;

constexpr unsigned kSize = 128, kHidden = 256, kHeads = 4, kLayers = 2, kTags = 17;
constexpr unsigned kWords = 5000, kSentences = 33, kMean = 18;

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
struct Layer {
  explicit Layer(ParameterCollection& model)
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
struct Tagger {
  Tagger() {
    for (unsigned i = 0; i < kLayers; ++i) layers.emplace_back(model);
  }

  template <class Ops>
  Expression loss(ComputationGraph& graph, unsigned words) const {
    std::vector<unsigned> word(words), tag(words);
    for (unsigned i = 0; i < words; ++i) {
      word[i] = (words * 31 + i) * 7919 % kWords;
      tag[i] = word[i] % kTags;
    }
    Expression x = positions(embedding.columns(graph, word));
    for (const Layer& layer : layers) x = layer.apply<Ops>(x);
    return cross_entropy(output(norm.apply<Ops>(x)), tag);
  }

  ParameterCollection model{1};
  nn::Embedding embedding{model, kWords, kSize};
  nn::SinusoidalPositions positions{64, kSize};
  std::vector<Layer> layers;
  Layer::Norm norm{model};
  nn::Linear output{model, kSize, kTags};
};

/// A tagger in training, on sentences of these lengths.
template <class Ops>
struct Training {
  void step() {
    batch.clear();
    for (const unsigned words : lengths) batch.add_loss(tagger.loss<Ops>(batch.new_graph(), words));
    const float loss = batch.forward();
    if (first_loss == 0) first_loss = loss;
    trainer.update(batch.backward());
  }

  std::vector<unsigned> lengths;
  Tagger tagger = Tagger();
  AdamTrainer trainer{tagger.model, 1e-4f};
  Minibatch batch = Minibatch();
  float first_loss = 0;
};

/// Prints a row. Returns the loss of sentences of different lengths.
template <class Ops>
float measure(const char* name, const std::vector<unsigned>& equal,
              const std::vector<unsigned>& different, double seconds) {
  Training<Ops> a{equal}, b{different};
  const std::vector<double> times =
      bench::seconds_by_turns({[&] { a.step(); }, [&] { b.step(); }}, seconds);
  const unsigned words = kSentences * kMean;
  fmt::print("{:<24} {:>8} {:>9}   {:>8.0f} {:>9.0f}\n", name, a.batch.explain().batches,
             b.batch.explain().batches, words / times[0], words / times[1]);
  return b.first_loss;
}

void run(int argc, char** argv) {
  double seconds = 2;
  bench::Options options(
      "A Transformer tagger (2 layers of size 128, 4 heads) on 33 sentences, with one thread.\n"
      "Prints the number of batches of forward, and words per second of processor time in\n"
      "training: with the ops attention and layer_norm, and composed of other operations.\n"
      "Sentences have 2 to 34 words, or all their mean length.");
  options.seconds(seconds, "seconds per row");
  if (!options.read(argc, argv)) return;
  const std::vector<unsigned> equal(kSentences, kMean);
  std::vector<unsigned> different;
  for (unsigned i = 0; i < kSentences; ++i) different.push_back(2 + i * 13 % kSentences);
  fmt::print("{:<24} {:>18}   {:>18}\n", "", "batches", "words per second");
  fmt::print("{:<24} {:>8} {:>9}   {:>8} {:>9}\n", "", "equal", "different", "equal", "different");
  const float loss = measure<OneOp>("attention, layer_norm", equal, different, seconds);
  const float other = measure<OtherOps>("other operations", equal, different, seconds);
  if (std::abs(other - loss) > 1e-5f * loss) {
    throw std::logic_error("the two ways have different losses");
  }
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("transformer", [&] { run(argc, argv); });
}

// A Transformer tagger: whether sentences of different lengths share batches, and how much faster
// it trains with the ops `attention` and `layer_norm` than written from other operations.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "nn/data/tagged_sentences.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;

constexpr unsigned kSize = 128, kHidden = 256, kHeads = 4, kLayers = 2, kTags = 17;
constexpr unsigned kWords = 5000, kSentences = 32, kLongest = 512;

// ------------------------------------------------------------ the two parts, written both ways

struct OneOp {
  static Expression norm(const Expression& x, const Expression& g, const Expression& b) {
    return layer_norm(x, g, b);
  }
  static Expression attend(const Expression& q, const Expression& k, const Expression& v) {
    return attention(q, k, v, kHeads);
  }
};

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

// ---------------------------------------------------------------------------------- the model

// nn::TransformerEncoderLayer with the norm first.
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
      ComputationGraph& graph = x.graph("norm");
      return Ops::norm(x, parameter(graph, g), parameter(graph, b));
    }
    Parameter g, b;
  };

  nn::Linear query, key, value, output;
  nn::MLP network;
  Norm norms[2];
};

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
    const Expression scores = output(norm.apply<Ops>(x));
    return pickneglogsoftmax(reshape(scores, Dim({kTags}, words)), tag);
  }

  ParameterCollection model{1};
  nn::Embedding embedding{model, kWords, kSize};
  nn::SinusoidalPositions positions{kLongest, kSize};
  std::vector<Layer> layers;
  Layer::Norm norm{model};
  nn::Linear output{model, kSize, kTags};
};

// -------------------------------------------------------------------------------- measurements

template <class Ops>
void record(Minibatch& batch, const Tagger& tagger, const std::vector<unsigned>& lengths) {
  batch.clear();
  for (const unsigned words : lengths) batch.add_loss(tagger.loss<Ops>(batch.new_graph(), words));
}

struct Measured {
  std::uint64_t batches = 0;
  double words_per_second = 0;  ///< of processor time, recording to update; the median
};

template <class Ops>
Measured measure(const std::vector<unsigned>& lengths, double seconds, bool explains) {
  Tagger tagger;
  AdamTrainer trainer(tagger.model, 1e-4f);
  double words = 0;
  for (const unsigned length : lengths) words += length;
  Minibatch batch;
  std::vector<double> times;
  double total = 0;
  while (total < seconds || times.size() < 3) {
    const std::clock_t start = std::clock();
    record<Ops>(batch, tagger, lengths);
    batch.forward();
    trainer.update(batch.backward());
    times.push_back(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    total += times.back();
  }
  std::sort(times.begin(), times.end());
  GraphOptions options;
  options.cells_after = 0;
  Minibatch counted(options);
  record<Ops>(counted, tagger, lengths);
  counted.forward();
  const auto explanation = counted.explain();
  if (explains) std::cout << explanation << '\n';
  return {explanation.batches, words / times[times.size() / 2]};
}

std::vector<unsigned> lengths_of(const std::string& file) {
  std::vector<unsigned> lengths;
  if (file.empty()) {
    for (unsigned i = 0; i < kSentences; ++i) lengths.push_back(2 + i * 13 % 32);
    return lengths;
  }
  for (const nn::TaggedSentence& sentence : nn::read_conllu_tags(file)) {
    const std::size_t words = std::min<std::size_t>(sentence.words.size(), kLongest);
    if (lengths.size() < kSentences) lengths.push_back(static_cast<unsigned>(words));
  }
  return lengths;
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  double seconds = 2;
  std::string file;
  po::options_description options(
      "A Transformer tagger (2 layers of size 128, 4 heads) on 32 sentences, one thread: in how\n"
      "many batches forward runs them without cells, and how many words it trains on in a second\n"
      "of the processor, with cells as by default. Written with the ops attention and layer_norm, "
      "and from other\n"
      "operations. Sentences have different lengths, or all their mean length.\n\n"
      "Options");
  auto add = options.add_options();
  add("seconds", po::value(&seconds)->default_value(2, "2"), "of every measurement");
  add("data", po::value(&file),
      "lengths of the first sentences of this CoNLL-U file; without, 2 to 33");
  add("explain", "shows what ran in which batches");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("seconds", seconds, 0.001, 3600);

  const std::vector<unsigned> different = lengths_of(file);
  unsigned total = 0;
  for (const unsigned words : different) total += words;
  const std::vector<unsigned> equal(different.size(),
                                    total / static_cast<unsigned>(different.size()));
  const bool explains = values.contains("explain");
  const auto print = [&](const char* name, auto ops) {
    using Ops = decltype(ops);
    const Measured a = measure<Ops>(equal, seconds, explains);
    const Measured b = measure<Ops>(different, seconds, explains);
    std::printf("%-24s %8llu %9llu   %8.0f %9.0f\n", name,
                static_cast<unsigned long long>(a.batches),
                static_cast<unsigned long long>(b.batches), a.words_per_second, b.words_per_second);
  };
  std::printf("%-24s %18s   %18s\n", "", "batches", "words per second");
  std::printf("%-24s %8s %9s   %8s %9s\n", "", "equal", "different", "equal", "different");
  print("attention, layer_norm", OneOp());
  print("other operations", OtherOps());
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("transformer", [&] { run(argc, argv); });
}

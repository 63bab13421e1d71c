// The cost of losses for structured prediction, and whether sentences of different lengths share
// batches.
#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "bench/support/program.h"
#include "dynet_like/dynet_like.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;

constexpr unsigned kSentences = 32, kLabels = 8, kLongest = 36;

/// The loss of a sentence, whose scores have gradients, and the unit of its cost.
struct Model {
  std::string name, unit;
  std::function<double(unsigned words)> units;
  std::function<Expression(ComputationGraph&, unsigned words)> loss;
};

class Models {
 public:
  explicit Models(ParameterCollection& model)
      : shift_(model.add_parameters({1})),
        chain_(model, kLabels),
        segments_(model, kLabels, {.max_length = 6}) {}

  std::vector<Model> all() const {
    const auto words = [](unsigned n) { return double(n); };
    const auto spans = [](unsigned n) { return n * (n + 1) / 2.0; };
    const auto arcs = [](unsigned n) { return double(n) * n; };
    const auto segments = [](unsigned n) { return n > 6 ? 6.0 * n - 15 : n * (n + 1) / 2.0; };
    return {
        {"linear chain, 8 labels", "word", words,
         [this](auto& graph, unsigned n) { return chain(graph, n); }},
        {"semi-Markov, 8 labels, 6 words", "segment", segments,
         [this](auto& graph, unsigned n) { return segmentation(graph, n); }},
        {"spans, 8 labels", "span", spans,
         [this](auto& graph, unsigned n) { return tree_of_spans(graph, n); }},
        {"projective trees", "arc", arcs,
         [this](auto& graph, unsigned n) {
           return nn::projective_tree_loss(scores(graph, Dim({n + 1, n})), heads(n));
         }},
        {"all trees (determinant)", "arc", arcs,
         [this](auto& graph, unsigned n) {
           return nn::matrix_tree_loss(scores(graph, Dim({n + 1, n})), heads(n));
         }},
        {"CTC, 4 steps per label", "step", [](unsigned n) { return 4.0 * n; },
         [this](auto& graph, unsigned n) {
           return nn::ctc_loss(scores(graph, Dim({kLabels + 1, 4 * n})), labels(n));
         }},
    };
  }

 private:
  Expression scores(ComputationGraph& graph, const Dim& dim) const {
    // Depends on data: a value of parameters alone would be computed once for all samples.
    const std::vector<float> data(dim.batch_size() * dim.bd);
    return input(graph, dim, data) + parameter(graph, shift_);
  }
  /// The scores of all parts of up to `longest` words, by length.
  std::vector<Expression> parts(ComputationGraph& graph, unsigned words, unsigned longest) const {
    std::vector<Expression> result;
    for (unsigned width = 1; width <= std::min(words, longest); ++width) {
      result.push_back(scores(graph, Dim({kLabels}, words - width + 1)));
    }
    return result;
  }
  static std::vector<unsigned> heads(unsigned words) {
    std::vector<unsigned> heads;
    for (unsigned word = 0; word < words; ++word) heads.push_back(word);
    return heads;
  }
  static std::vector<unsigned> labels(unsigned words) {
    std::vector<unsigned> labels;
    for (unsigned word = 0; word < words; ++word) labels.push_back(word % kLabels);
    return labels;
  }

  Expression chain(ComputationGraph& graph, unsigned words) const {
    return chain_.loss(scores(graph, {kLabels, words}), labels(words));
  }
  Expression segmentation(ComputationGraph& graph, unsigned words) const {
    std::vector<nn::LabelledSpan> gold;
    for (unsigned i = 0; i < words; ++i) gold.push_back({i, i + 1, i % kLabels});
    return segments_.loss(parts(graph, words, segments_.max_length()), gold);
  }
  Expression tree_of_spans(ComputationGraph& graph, unsigned words) const {
    std::vector<nn::LabelledSpan> gold;
    for (unsigned i = 0; i < words; ++i) {
      gold.push_back({i, words, 0});
      if (i + 1 < words) gold.push_back({i, i + 1, 1});
    }
    return nn::span_loss(parts(graph, words, words), gold);
  }

  Parameter shift_;
  nn::LinearChainCRF chain_;
  nn::SemiMarkovCRF segments_;
};

void run(int argc, char** argv) {
  double seconds = 1;
  std::string filter;
  bench::Options options(
      "Losses of structured prediction for 32 sentences, with one thread. Prints the number of\n"
      "batches of forward, and nanoseconds of processor time per unit to record, run forward and\n"
      "run backward, for sentences of 36 words and of 5 to 36.");
  options.seconds(seconds, "seconds per model")
      .text("filter", filter, "only models whose names contain this text");
  if (!options.read(argc, argv)) return;

  std::vector<unsigned> lengths[] = {std::vector<unsigned>(kSentences, kLongest), {}};
  for (unsigned i = 0; i < kSentences; ++i) lengths[1].push_back(5 + i * 13 % 32);
  ParameterCollection parameters;
  const Models models(parameters);
  fmt::print("{:<32} {:>18}   {}\n", "", "batches", "ns per");
  fmt::print("{:<32} {:>8} {:>9}   {:<8} {:>8} {:>9}\n", "", "equal", "different", "unit", "equal",
             "different");
  for (const Model& model : models.all()) {
    if (model.name.find(filter) == std::string::npos) continue;
    Minibatch batches[2];
    std::vector<std::function<void()>> runs;
    double units[2] = {};
    for (const int i : {0, 1}) {
      for (const unsigned words : lengths[i]) units[i] += model.units(words);
      runs.push_back([&, i] {
        batches[i].clear();
        for (const unsigned words : lengths[i]) {
          batches[i].add_loss(model.loss(batches[i].new_graph(), words));
        }
        batches[i].forward();
        batches[i].backward();
      });
    }
    const std::vector<double> times = bench::seconds_by_turns(runs, seconds);
    fmt::print("{:<32} {:>8} {:>9}   {:<8} {:>8.0f} {:>9.0f}\n", model.name,
               batches[0].explain().batches, batches[1].explain().batches, model.unit,
               times[0] / units[0] * 1e9, times[1] / units[1] * 1e9);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("structured", [&] { run(argc, argv); });
}

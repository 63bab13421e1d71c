// The cost of losses for structured prediction, and whether sentences of different lengths share
// batches.
#include <algorithm>
#include <chrono>
#include <cstdio>
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

struct Measured {
  std::uint64_t batches = 0;
  double nanoseconds = 0;  ///< per unit, recording, forward and backward; the median
};

Measured measure(const Model& model, const std::vector<unsigned>& lengths, double seconds) {
  double units = 0;
  for (const unsigned words : lengths) units += model.units(words);
  Minibatch batch;
  std::vector<double> times;
  using Clock = std::chrono::steady_clock;
  for (const auto begin = Clock::now();
       Clock::now() - begin < std::chrono::duration<double>(seconds) || times.size() < 3;) {
    const auto start = Clock::now();
    batch.clear();
    for (const unsigned words : lengths) batch.add_loss(model.loss(batch.new_graph(), words));
    batch.forward();
    batch.backward();
    times.push_back(std::chrono::duration<double, std::nano>(Clock::now() - start).count() / units);
  }
  std::sort(times.begin(), times.end());
  Minibatch counted;
  for (const unsigned words : lengths) counted.add_loss(model.loss(counted.new_graph(), words));
  counted.forward();
  return {counted.explain().batches, times[times.size() / 2]};
}

void run(int argc, char** argv) {
  namespace po = boost::program_options;
  double seconds = 0.5;
  std::string filter;
  po::options_description options(
      "Losses of structured prediction for 32 sentences, with one thread. Prints the number of\n"
      "batches of forward, and nanoseconds per unit to record, run forward and run backward, for\n"
      "sentences of 36 words and of 5 to 36.\n\n"
      "Options");
  options.add_options()("seconds", po::value(&seconds)->default_value(0.5, "0.5"),
                        "seconds per measurement")("filter", po::value(&filter)->default_value(""),
                                                   "only models whose names contain this text");
  po::variables_map values;
  if (!bench::read_command_line(argc, argv, options, values)) return;
  bench::check_range("seconds", seconds, 0.001, 3600);

  const std::vector<unsigned> equal(kSentences, kLongest);
  std::vector<unsigned> different;
  for (unsigned i = 0; i < kSentences; ++i) different.push_back(5 + i * 13 % 32);
  ParameterCollection parameters;
  const Models models(parameters);
  std::printf("%-32s %18s   %s\n", "", "batches", "ns per");
  std::printf("%-32s %8s %9s   %-8s %8s %9s\n", "", "equal", "different", "unit", "equal",
              "different");
  for (const Model& model : models.all()) {
    if (model.name.find(filter) == std::string::npos) continue;
    const Measured a = measure(model, equal, seconds), b = measure(model, different, seconds);
    std::printf("%-32s %8llu %9llu   %-8s %8.0f %9.0f\n", model.name.c_str(),
                static_cast<unsigned long long>(a.batches),
                static_cast<unsigned long long>(b.batches), model.unit.c_str(), a.nanoseconds,
                b.nanoseconds);
  }
}

}  // namespace

int main(int argc, char** argv) {
  return dynet_like::bench::run_program("structured", [&] { run(argc, argv); });
}

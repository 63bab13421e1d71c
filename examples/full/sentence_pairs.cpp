// The relation of two sentences: entailment, contradiction, or neither. A Tree-LSTM reads both, and
// a network compares the states of their roots. With two threads, on a busy machine:
//   sentence_pairs     generated pairs: 97.7 % of 1,000 new ones; 13 seconds
//   sentence_pairs --train FILE --dev FILE --test FILE
// These files have lines "sentence TAB sentence TAB label". Brackets mark phrases, as in the binary
// parses of SNLI: "( ( all dogs ) ( ( not big ) ( or old ) ) )". If there are more than two parts,
// such as in a sentence without brackets, they are joined from left to right.
#include <array>

#include "examples/full/support/generated.h"
#include "examples/full/support/program.h"
#include "examples/full/support/word_vectors.h"
#include "nn/data/bracketed_text.h"
#include "nn/data/text_lines.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;

void add_options(OptionTable& table) {
  table.files("pairs");
  table.whole("train-pairs", {1, 1e5}, "30000", kNever, "size of the generated training data");
  table.whole("min-count", {1, 1e6}, "2", "words that occur fewer than N times are unknown");
  table.whole("embedding", {1, 4096}, "32", "size of a word's vector");
  table.whole("hidden", {1, 4096}, "64", "size of a node's h and c");
  add_vector_options(table);
}

const Program kProgram = {"sentence_pairs",
                          "Learns the relation of two sentences from lines \"sentence TAB sentence "
                          "TAB label\". Sentences may\n"
                          "have brackets for phrases. --apply reads lines \"sentence TAB "
                          "sentence\", and writes each with its\n"
                          "label and a tab in front.\n",
                          add_options,
                          {{"8", "8"}, {"32", "32"}, {"0.003", "0.003"}}};

struct Pair {
  std::array<nn::Tree, 2> trees;
  std::string label;
};
using Pairs = std::vector<Pair>;

Pair parsed(std::string_view first, std::string_view second, const std::string& label,
            const std::string& file, std::size_t line = 0) {
  const auto tree = [&](auto text) { return nn::parse_bracketed_text(text, file, line); };
  return {{tree(first), tree(second)}, label};
}

nn::Splits<Pair> load(const Options& options) {
  const auto parse = [&](std::span<const nn::TextPair> pairs, const std::string& file) {
    Pairs result;
    for (const auto& [a, b, label] : pairs) result.push_back(parsed(a, b, label, file));
    return result;
  };
  const nn::TextPairColumns columns = {.first = 0, .second = 1, .label = 2};
  const auto read = [&](auto file) { return parse(nn::read_text_pairs(file, columns), file); };
  if (auto data = read_splits<Pair>(options, read)) return *data;
  const std::size_t train = options.whole("train-pairs"), dev = 1000;
  const std::vector<nn::TextPair> pairs = generated_pairs(train + dev, options.seed());
  const std::span all(pairs);
  return {parse(all.first(train), "generated"), parse(all.last(dev), "generated"), {}};
}

struct Vocabularies {
  nn::Vocabulary words, labels;
};

Vocabularies vocabularies_of(const Pairs& pairs, const Options& options) {
  std::vector<nn::Tree> trees;
  for (const Pair& pair : pairs) trees.insert(trees.end(), pair.trees.begin(), pair.trees.end());
  return {known_words(trees, &nn::Tree::words, options), nn::vocabulary_of(pairs, &Pair::label)};
}

/// A Tree-LSTM over the words of each sentence, and a network over both roots.
struct Model {
  ParameterCollection& parameters;
  const Options& options;
  Vocabularies v;
  unsigned size = options.whole("embedding"), hidden = options.whole("hidden");
  nn::Embedding embedding{parameters, v.words.size(), size};
  nn::TreeLSTM reader{parameters, size, hidden};
  nn::MLP output{parameters, 4 * hidden, {hidden, v.labels.size()}};

  Expression root(ComputationGraph& graph, const nn::Tree& tree) const {
    std::vector<Expression> xs;
    for (const unsigned word : v.words.ids(tree.words())) xs.push_back(embedding(graph, word));
    return reader(tree, xs).back().h;
  }
  /// The scores of the labels.
  Expression scores(ComputationGraph& graph, const Pair& pair) const {
    const Expression a = root(graph, pair.trees[0]), b = root(graph, pair.trees[1]);
    return output(concatenate({a, b, abs(a - b), cmult(a, b)}));
  }
  Expression loss(ComputationGraph& graph, const Pair& pair) const {
    return cross_entropy(scores(graph, pair), v.labels.id(pair.label));
  }
  /// The best label of every pair.
  std::vector<std::string> labels(const Pairs& pairs) const {
    const auto label = [&](ComputationGraph& graph, const Pair& pair) {
      return v.labels.word(argmax_of_columns(scores(graph, pair).value()).front());
    };
    return nn::predict(pairs, label, {.graph = options.graph()});
  }
};

int train(const Options& options) {
  const nn::Splits<Pair> data = load(options);
  ParameterCollection parameters(options.seed());
  const Model model{parameters, options, vocabularies_of(data.train, options)};
  AdamWTrainer trainer(parameters);
  load_vectors(options, model.v.words, model.embedding, trainer);
  nn::TrainingOptions training = options.training("pairs", "accuracy");
  training.schedule.rate = nn::CosineRate{.peak = options.real("learning-rate"),
                                          .updates = training.updates(data.train.size())};
  training.files.texts = {{"words", model.v.words.to_text()}, {"labels", model.v.labels.to_text()}};
  training.stopping.dev_score = [&] {
    return nn::accuracy(model.labels(data.dev), data.dev, &Pair::label);
  };
  begin_training(options, parameters, data);
  const auto loss = [&](auto& graph, const Pair& sample) { return model.loss(graph, sample); };
  const auto progress = nn::train(trainer, data.train, loss, training);
  if (progress.interrupted) return stopped();
  nlohmann::json report = measure_batching(options, progress, data.train, "pairs_per_s", loss);
  report["dev_accuracy"] = progress.best_score;
  if (!data.test.empty())
    report_test(report, nn::accuracy(model.labels(data.test), data.test, &Pair::label));
  return finish(options, training, progress, report);
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const Model model{parameters, options, {saved.vocabulary("words"), saved.vocabulary("labels")}};
  saved.load(parameters);
  const auto parse = [&](const std::string& line, std::size_t number) {
    const auto texts = nn::TextLine{line, kStandardInput, number}.columns(2);
    return parsed(texts[0], texts[1], "", kStandardInput, number);
  };
  return label_lines(parse, [&](const Pairs& pairs) { return model.labels(pairs); });
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }

// Tree-LSTM (Tai, Socher and Manning 2015): learns to label the nodes of trees. Each tree is
// recorded separately, and batching is automatic. With one thread, on a busy machine:
//   tree_lstm
//       ListOps with at least 3 operators: 97.3 %; 1.5 minutes
//   tree_lstm --train sst/train.txt --dev sst/dev.txt --test sst/test.txt
//       46.7 % of the test sentences in five classes, 84.8 % in two; 26 seconds
//   tree_lstm --train train_d20s.tsv --test test_d20s.tsv --train-trees 100000 --max-tokens 1000
//       --hidden 128 --epochs 8 --decay 0.6
//       99.75 % of all 10,000 test trees; 7 to 8 minutes
#include <algorithm>
#include <cmath>

#include "examples/full/support/program.h"
#include "examples/full/support/word_vectors.h"
#include "examples/full/tree_lstm/listops.h"
#include "nn/data/listops.h"
#include "nn/data/treebank.h"
#include "nn/nn.h"

namespace {

using namespace dynet_like;
using namespace dynet_like::examples;
using Trees = std::vector<nn::Tree>;

void add_options(OptionTable& table) {
  table.file("train", "trees to train on");
  table.file("dev", "trees to choose the best epoch on").usual = kNever;
  table.file("test", "trees to test on");
  table.whole("train-trees", {1, 1e8}, "80000", kNever, "size of the generated training data");
  table.whole("test-trees", {1, 1e7}, "2000", kNever,
              "size of the development data and of the test data");
  table.whole("max-tokens", {20, 1e4}, "100", kNever, "most tokens of a generated expression");
  table.whole("min-count", {1, 1e6}, "1", "2", "words that occur fewer than N times are unknown");
  table.whole("embedding", {1, 4096}, "64", "150", "size of a word's vector");
  table.whole("hidden", {1, 4096}, "96", "150", "size of a node's h and c");
  table.real("dropout", {0, 0.95}, "0", "0.5", "dropout rate of words and outputs");
  add_vector_options(table);
}

const Program kProgram = {
    "tree_lstm",
    "Labels trees. Files named *.txt are treebanks; others are ListOps such as [MAX 2 [MIN 4 7 ] 0 "
    "].\n"
    "--apply reads trees, one per line as in their files, and writes each with its label and a "
    "tab\n"
    "in front.\n",
    add_options,
    {{"4", "8"}, {"32", "25"}, {"0.003", "0.002"}, {"0.5", "0.8"}},
    "for a treebank",
    [](const Options& options) { return options.text("train").ends_with(".txt"); }};

nn::TreeSplits load(const Options& options) {
  const auto read = [](const std::string& file) { return nn::read_treebank(file); };
  if (options.is_special()) return *read_splits<nn::Tree>(options, read);
  const unsigned train = options.whole("train-trees"), test = options.whole("test-trees");
  return listops_splits(options.text("train"), options.text("test"),
                        {train, test, test, options.whole("max-tokens")}, options.seed());
}

/// Word vectors, a Tree-LSTM over them, and a linear classifier of its nodes.
struct Model {
  ParameterCollection& parameters;
  const Options& options;
  nn::Vocabulary words;
  unsigned labels = options.is_special() ? 5 : 10;
  nn::Embedding embedding{
      parameters, words.size(), options.whole("embedding"), {.init = ParameterInitUniform(0.05f)}};
  nn::TreeLSTM tree_lstm{parameters, options.whole("embedding"), options.whole("hidden")};
  nn::Linear classifier{parameters, options.whole("hidden"), labels};
  float rate = options.real("dropout");

  std::vector<std::uint32_t> ids_of(const nn::Tree& tree) const {
    std::vector<std::uint32_t> ids;
    for (const std::string& word : tree.words()) ids.push_back(words.id(word));
    return ids;
  }
  /// The outputs of all nodes, a column each.
  Expression read(ComputationGraph& graph, const nn::Tree& tree) const {
    return tree_lstm(tree, dropout(embedding.columns(graph, ids_of(tree)), rate)).all().h;
  }
  /// The same, one node of the tree after the other.
  Expression read_node_by_node(ComputationGraph& graph, const nn::Tree& tree) const {
    std::vector<Expression> leaves, outputs;
    for (const unsigned id : ids_of(tree)) leaves.push_back(dropout(embedding(graph, id), rate));
    for (const auto& node : tree_lstm(tree, leaves)) outputs.push_back(node.h);
    return concatenate_cols(outputs);
  }
  /// The sum over all labelled nodes: in ListOps, digits and complete expressions.
  Expression loss(const Expression& outputs, const nn::Tree& tree) const {
    std::vector<unsigned> nodes, gold;
    for (unsigned i = 0; i < tree.size(); ++i) {
      const auto label = static_cast<unsigned>(tree.label(i));
      if (label >= labels) continue;
      nodes.push_back(i);
      gold.push_back(label);
    }
    const Expression labelled = select_cols(outputs, nodes);
    return sum_batches(cross_entropy(classifier(dropout(labelled, rate)), gold));
  }
  /// The probabilities of the labels of every root.
  std::vector<std::vector<float>> predict(const Trees& trees) const {
    const auto of_root = [&](ComputationGraph& graph, const nn::Tree& tree) {
      const Expression nodes = read(graph, tree);
      return as_vector(softmax(classifier(pick(nodes, tree.root(), 1))).value());
    };
    return nn::predict(trees, of_root, {.graph = options.graph(), .ranks = &options.ranks()});
  }
};

long best(const std::vector<float>& p) { return std::max_element(p.begin(), p.end()) - p.begin(); }

/// The accuracy at roots; for sentiments also of positive or negative, without neutral ones.
std::pair<double, double> accuracies(const Model& model, const Trees& trees) {
  nn::Accuracy all, binary;
  const std::vector<std::vector<float>> predictions = model.predict(trees);
  for (std::size_t i = 0; i < trees.size(); ++i) {
    const std::vector<float>& p = predictions[i];
    const int label = trees[i].label(trees[i].root());
    all.add(best(p) == label);
    if (label != 2) binary.add((p[3] + p[4] > p[0] + p[1]) == (label > 2));
  }
  return {all.value(), model.options.is_special() ? binary.value() : NAN};
}

int train(const Options& options) {
  const nn::TreeSplits data = load(options);
  ParameterCollection parameters(options.seed());
  const nn::Vocabulary words =
      known_words(nn::vocabulary_of(data.train, 1, normalisation_of(options)), options);
  const Model model{parameters, options, words};
  AdamTrainer trainer(parameters);
  load_vectors(options, words, model.embedding, trainer);
  nn::TrainingOptions training = options.training("trees", "accuracy");
  training.sizes = nn::sizes_of(data.train);
  training.sum_losses = true;
  if (options.is_special()) average_last_epoch(trainer, training, data.train.size());
  training.stopping.dev_score = [&] { return accuracies(model, data.dev).first; };
  training.files.texts["words"] = words.to_text();
  begin_training(options, parameters, data);
  const auto loss = [&](ComputationGraph& graph, const nn::Tree& tree) {
    return model.loss(model.read(graph, tree), tree);
  };
  const auto nodes = [&](ComputationGraph& graph, const nn::Tree& tree) {
    return model.loss(model.read_node_by_node(graph, tree), tree);
  };
  const auto progress = nn::train(trainer, data.train, loss, training);
  if (progress.interrupted) return stopped();
  const auto [all, binary] = accuracies(model, data.test);
  fmt::print("test accuracy: {:.2f} %", 100 * all);
  if (options.is_special()) fmt::print("; positive or negative: {:.2f} %", 100 * binary);
  nlohmann::json report =
      measure_batching(options, progress, data.train, "trees_per_s", loss, nodes);
  report["task"] = options.is_special() ? "sst" : "listops";
  report["dev_accuracy"] = progress.best_score;
  report.update({{"test_accuracy", all}, {"test_binary_accuracy", binary}});
  return finish(options, training, progress, report);
}

int apply(Options& options) {
  const nn::SavedModel saved = options.load_model();
  ParameterCollection parameters;
  const Model model{parameters, options, saved.vocabulary("words")};
  saved.load(parameters);
  const auto parse = [&](const std::string& line, std::size_t number) {
    if (options.is_special()) return nn::parse_tree(line, kStandardInput, number);
    return nn::parse_listops(line, kStandardInput, number, {.check_values = false});
  };
  return label_lines(parse, [&](const Trees& trees) {
    std::vector<long> labels;
    for (const auto& p : model.predict(trees)) labels.push_back(best(p));
    return labels;
  });
}

}  // namespace

int main(int argc, char** argv) { return run_program(kProgram, argc, argv, train, apply); }

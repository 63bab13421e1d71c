// Tree-LSTM: learns to label the nodes of trees, batched automatically across the trees.
//
// Every tree is recorded by itself, with a plain loop over its nodes; the library finds out which
// nodes of all the trees of a minibatch can be computed together. The model is that of Tai, Socher
// and Manning (2015), "Improved Semantic Representations From Tree-Structured Long Short-Term
// Memory Networks"; there is a loss at every node that has a label. Run time on two idle cores:
//
//   tree_lstm
//       ListOps: 96 % (95 to 97 over seeds) of the test trees with 3 operators and more; 1 minute
//   tree_lstm --resume --listops-test FILE
//       the same model on ListOps' own test file: 97 % of all its trees; 10 seconds
//   tree_lstm --data FOLDER
//       Stanford Sentiment Treebank: 45 to 46.5 % of the test sentences in five classes, 84 % in
//       two; 1 minute (Tai et al. report 43.9 and 82.0 with random initial vectors, as here)
//
// The model is here; what it is trained on, how it is evaluated and how files and flags are
// handled is in tree_lstm/, and what it has in common with other examples in support/.
#include <algorithm>
#include <iostream>
#include <numeric>
#include <span>
#include <vector>

#include <fmt/core.h>

#include "dynet_like/dynet_like.h"
#include "examples/support/lines.h"
#include "examples/support/measure.h"
#include "examples/support/parallel.h"
#include "examples/support/program.h"
#include "examples/support/report_file.h"
#include "examples/support/saved_model.h"
#include "examples/support/training.h"
#include "examples/tree_lstm/evaluation.h"
#include "examples/tree_lstm/options.h"
#include "examples/tree_lstm/results.h"
#include "examples/tree_lstm/task.h"
#include "nn/nn.h"

namespace dynet_like::examples {
namespace {

constexpr std::size_t kTreesTogether = 256;

/// Vectors of words, a Tree-LSTM over them, and a linear classifier of its nodes.
class Model {
 public:
  Model(ParameterCollection& parameters, const NetworkOptions& options, std::uint32_t words,
        std::uint32_t labels)
      : embedding_(parameters, words, options.embedding, ParameterInitUniform(0.05f)),
        tree_lstm_(parameters, options.embedding, options.hidden),
        classifier_(parameters, options.hidden, labels),
        dropout_(options.dropout) {}

  /// Records a tree for training, with a loss at every node that has a label, or at the root only;
  /// returns the number of losses. ListOps labels digits and complete expressions.
  std::size_t add_losses(Minibatch& batch, const Sample& sample, bool root_only) const {
    ComputationGraph& graph = batch.new_graph();
    const std::vector<nn::TreeLSTM::State> states = run(graph, sample, true);
    const nn::Tree& tree = sample.tree;
    std::size_t losses = 0;
    for (std::uint32_t node = root_only ? tree.root() : 0; node < tree.size(); ++node) {
      if (tree.label(node) == nn::Tree::kNoLabel) continue;
      const Expression scores = classifier_(dropout_(states[node].h, true));
      batch.add_loss(pickneglogsoftmax(scores, static_cast<unsigned>(tree.label(node))));
      ++losses;
    }
    return losses;
  }

  std::vector<Prediction> predictions(const std::vector<Sample>& samples, unsigned threads) const {
    return predict(samples, threads, [&](ComputationGraph& graph, const Sample& sample) {
      return classifier_(run(graph, sample, false).back().h);  // the scores of the root
    });
  }

 private:
  std::vector<nn::TreeLSTM::State> run(ComputationGraph& graph, const Sample& sample,
                                       bool training) const {
    std::vector<Expression> words;
    words.reserve(sample.words.size());
    for (const std::uint32_t word : sample.words) {
      words.push_back(dropout_(embedding_(graph, word), training));
    }
    return tree_lstm_(sample.tree, words);
  }

  nn::Embedding embedding_;
  nn::TreeLSTM tree_lstm_;
  nn::Linear classifier_;
  nn::Dropout dropout_;
};

/// The model with its trees, for Training.
class TreeTrainee : public Trainee {
 public:
  TreeTrainee(const Model& model, const Options& options, const Task& task)
      : model_(model),
        options_(options),
        task_(task),
        batch_(options.parts, options.threads, options.seed) {}

  Loss run(std::span<const std::uint32_t> trees, std::uint64_t step) override {
    return batch_.run(trees, step, add_losses());
  }
  const Gradients& gradients() override { return batch_.gradients(); }
  double dev_score() override { return accuracy(task_.dev, predictions(task_.dev)).share(); }

  std::vector<Prediction> predictions(const std::vector<Sample>& samples) const {
    return model_.predictions(samples, options_.threads);
  }

  /// On the first training trees.
  BatchingGain measure(double training_seconds) const {
    std::vector<std::uint32_t> trees(
        std::min<std::size_t>(options_.batch_size, task_.train.size()));
    std::iota(trees.begin(), trees.end(), 0u);
    return measure_batching(trees, training_seconds, add_losses());
  }

 private:
  ParallelTrainingBatch::AddSample add_losses() const {
    return [this](Minibatch& batch, std::uint32_t tree) {
      return model_.add_losses(batch, task_.train[tree], options_.root_loss);
    };
  }

  const Model& model_;
  const Options& options_;
  const Task& task_;
  ParallelTrainingBatch batch_;
};

/// All that the bits of a model depend on; but for "task" and "data", flags by their names. The
/// number of epochs is not among them: a finished run can be resumed with more.
Metadata settings_of(const Options& options, const Task& task) {
  const auto real = [](float number) { return fmt::format("{}", number); };  // reads back the same
  return {{"task", name_of(task.kind)},
          {"data", task.fingerprint},
          {"words", std::to_string(task.vocabulary.size())},
          {"--embedding", std::to_string(options.embedding)},
          {"--hidden", std::to_string(options.hidden)},
          {"--dropout", real(options.dropout)},
          {"--batch-size", std::to_string(options.batch_size)},
          {"--learning-rate", real(options.learning_rate)},
          {"--decay", real(options.decay)},
          {"--root-loss", options.root_loss ? "yes" : "no"},
          {"--seed", std::to_string(options.seed)},
          {"--parts", std::to_string(options.parts)}};
}

TrainingOptions training_options(const Options& options, const Task& task) {
  return {.example = "tree_lstm",
          .unit = "trees",
          .score_name = "accuracy",
          .epochs = options.epochs,
          .batch_size = options.batch_size,
          .learning_rate = options.learning_rate,
          .decay = options.decay,
          .seed = options.seed,
          .output = options.output,
          .resume = options.resume,
          .settings = settings_of(options, task),
          .vocabularies = {{"vocabulary", task.vocabulary.to_text()}}};
}

std::vector<std::uint32_t> sizes_of(const std::vector<Sample>& samples) {
  std::vector<std::uint32_t> sizes;
  for (const Sample& sample : samples) sizes.push_back(sample.tree.size());
  return sizes;
}

int train(const Options& options) {
  check_writable(options.report);
  const Task task = load_task(options);
  ParameterCollection parameters(options.seed);
  const Model model(parameters, options, task.vocabulary.size(), labels_of(task.kind));
  AdamTrainer trainer(parameters, options.learning_rate);
  TreeTrainee trainee(model, options, task);
  Training training(training_options(options, task), sizes_of(task.train), parameters, trainer,
                    trainee);
  fmt::print("{}\n{} parameters, {} threads\n", task.description, parameters.parameter_count(),
             options.threads);
  flush_output();
  if (!training.run()) return stopped(options.resume_command);
  const Progress& progress = training.progress();
  fmt::print("best: epoch {} with {:.1f} % of the dev trees, in {}; trained for {:.0f} s\n",
             progress.best_epoch, 100 * progress.best_score, training.best(), progress.seconds);
  const std::vector<Prediction> predictions = trainee.predictions(task.test);
  print_test(options, task, predictions);
  const BatchingGain gain = trainee.measure(progress.seconds);
  fmt::print("\n{}", to_table(gain, "trees"));
  write_results(options, task, progress, predictions, gain);
  return 0;
}

int apply(const Options& options) {
  const SavedModel saved(options.output, "tree_lstm");
  const bool is_listops = saved.text("task") == name_of(TaskKind::listops);
  const TaskKind kind = is_listops ? TaskKind::listops : TaskKind::sentiments;
  const nn::Vocabulary vocabulary = saved.vocabulary("vocabulary");
  NetworkOptions network;
  read_network(saved.options(), network);
  ParameterCollection parameters;
  const Model model(parameters, network, vocabulary.size(), labels_of(kind));
  saved.load(parameters);
  answer_lines(std::cin, std::cout, kTreesTogether, [&](const auto& lines, std::size_t first) {
    const std::vector<Sample> samples = read_samples(lines, first, kind, vocabulary);
    const std::vector<Prediction> predictions = model.predictions(samples, options.threads);
    auto prediction = predictions.begin();
    std::string text;
    for (const std::string& line : lines) {
      if (!nn::is_blank(line)) text += fmt::format("{}\t{}\n", (prediction++)->label, line);
    }
    return text;
  });
  return 0;
}

}  // namespace
}  // namespace dynet_like::examples

int main(int argc, char** argv) {
  using namespace dynet_like::examples;
  return run_program("tree_lstm", [&] {
    const Options options = parse_options(argc, argv);
    if (options.help) {
      fmt::print("{}", help_text());
      return 0;
    }
    return options.apply ? apply(options) : train(options);
  });
}

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
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <vector>

#include <fmt/core.h>

#include "dynet_like/dynet_like.h"
#include "examples/support/interrupt.h"
#include "examples/support/measure.h"
#include "examples/support/parallel.h"
#include "examples/support/progress_bar.h"
#include "examples/support/report_file.h"
#include "examples/tree_lstm/evaluation.h"
#include "examples/tree_lstm/options.h"
#include "examples/tree_lstm/progress.h"
#include "examples/tree_lstm/results.h"
#include "examples/tree_lstm/task.h"
#include "nn/data/minibatches.h"
#include "nn/nn.h"

namespace dynet_like::examples {
namespace {

constexpr std::size_t kPoolBatches = 50;  // trees are sorted by size within so many minibatches
constexpr int kInterrupted = 130;         // the exit status of programs that Ctrl-C ended

/// Vectors of words, a Tree-LSTM over them, and a linear classifier of its nodes.
class Model {
 public:
  Model(ParameterCollection& parameters, const Options& options, const Task& task)
      : embedding_(parameters, task.vocabulary.size(), options.embedding,
                   ParameterInitUniform(0.05f)),
        tree_lstm_(parameters, options.embedding, options.hidden),
        classifier_(parameters, options.hidden, task.labels),
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
      const Expression scores = classifier_(graph, dropout_(states[node].h, true));
      batch.add_loss(pickneglogsoftmax(scores, static_cast<unsigned>(tree.label(node))));
      ++losses;
    }
    return losses;
  }

  /// The scores of the root's labels.
  Expression root_scores(ComputationGraph& graph, const Sample& sample) const {
    return classifier_(graph, run(graph, sample, false).back().h);
  }

 private:
  std::vector<nn::TreeLSTM::State> run(ComputationGraph& graph, const Sample& sample,
                                       bool training) const {
    std::vector<Expression> words;
    words.reserve(sample.words.size());
    for (const std::uint32_t word : sample.words) {
      words.push_back(dropout_(embedding_(graph, word), training));
    }
    return tree_lstm_(graph, sample.tree, words);
  }

  nn::Embedding embedding_;
  nn::TreeLSTM tree_lstm_;
  nn::Linear classifier_;
  nn::Dropout dropout_;
};

/// A training run, from the first minibatch or from a checkpoint to the last epoch.
class Training {
 public:
  Training(const Options& options, const Task& task)
      : options_(options),
        task_(task),
        parameters_(options.seed),
        model_(parameters_, options, task),
        trainer_(parameters_, options.learning_rate),
        random_(options.seed),
        batch_(options.parts, options.threads, options.seed),
        files_(options, task) {
    for (const Sample& sample : task.train) sizes_.push_back(sample.tree.size());
    if (options.resume) progress_ = files_.resume(parameters_, trainer_, random_);
  }

  /// Trains to the end, where the best model is loaded, or until Ctrl-C: then it saves where it is
  /// and returns false.
  bool run() {
    const InterruptWatch watch;
    while (progress_.epochs < options_.epochs) {
      if (!train_epoch(watch)) {
        files_.save(parameters_, trainer_, random_, progress_);
        return false;
      }
      finish_epoch();
    }
    files_.load_best(parameters_);
    return true;
  }

  std::vector<Prediction> predictions(const std::vector<Sample>& samples) const {
    return predict(samples, options_.threads, [&](ComputationGraph& graph, const Sample& sample) {
      return model_.root_scores(graph, sample);
    });
  }

  /// On the first training trees.
  BatchingGain measure() const {
    std::vector<std::uint32_t> trees(std::min<std::size_t>(options_.batch_size, sizes_.size()));
    std::iota(trees.begin(), trees.end(), 0u);
    return measure_batching(trees, [&](Minibatch& batch, std::uint32_t tree) {
      model_.add_losses(batch, task_.train[tree], options_.root_loss);
    });
  }

  const Progress& progress() const { return progress_; }
  const TrainingFiles& files() const { return files_; }
  std::size_t parameter_count() const { return parameters_.parameter_count(); }

 private:
  /// Goes on with the epoch where it is; false after Ctrl-C.
  bool train_epoch(const InterruptWatch& watch) {
    // A copy: until the epoch is complete, a checkpoint needs the numbers that it began with.
    Random random = random_;
    const nn::Minibatches minibatches =
        nn::similar_size_minibatches(sizes_, options_.batch_size, kPoolBatches, random);
    trainer_.learning_rate =
        options_.learning_rate * std::pow(options_.decay, static_cast<float>(progress_.epochs));
    ProgressBar bar(fmt::format("epoch {}/{}", progress_.epochs + 1, options_.epochs),
                    sizes_.size(), "trees", progress_.minibatches * options_.batch_size);
    while (progress_.minibatches < minibatches.size() && !watch.interrupted()) {
      const std::vector<std::uint32_t>& trees = minibatches[progress_.minibatches];
      train_minibatch(trees);
      bar.advance(trees.size(), progress_.mean_loss());
    }
    progress_.seconds += bar.seconds();
    if (progress_.minibatches < minibatches.size()) return false;
    trees_per_second_ = bar.units_per_second();
    random_ = random;
    return true;
  }

  void train_minibatch(const std::vector<std::uint32_t>& trees) {
    const auto loss =
        batch_.run(trees, trainer_.updates(), [&](Minibatch& batch, std::uint32_t tree) {
          return model_.add_losses(batch, task_.train[tree], options_.root_loss);
        });
    trainer_.update(batch_.gradients());
    progress_.loss += loss.sum;
    progress_.losses += loss.count;
    ++progress_.minibatches;
  }

  /// Evaluates the model on the dev trees, and keeps it if it is the best so far.
  void finish_epoch() {
    const auto start = std::chrono::steady_clock::now();
    const double dev_accuracy = accuracy(task_.dev, predictions(task_.dev)).share();
    const bool is_best = progress_.best_epoch == 0 || dev_accuracy > progress_.best_accuracy;
    fmt::print("epoch {}: loss {:.4f}, dev accuracy {:.1f} %, {:.0f} trees/s{}\n",
               progress_.epochs + 1, progress_.mean_loss(), 100 * dev_accuracy, trees_per_second_,
               is_best ? ", best so far" : "");
    std::fflush(stdout);
    ++progress_.epochs;
    progress_.minibatches = 0;
    progress_.loss = 0;
    progress_.losses = 0;
    if (is_best) {
      progress_.best_epoch = progress_.epochs;
      progress_.best_accuracy = dev_accuracy;
      files_.save_best(parameters_, progress_);
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    progress_.seconds += seconds.count();
    files_.save(parameters_, trainer_, random_, progress_);
  }

  const Options& options_;
  const Task& task_;
  ParameterCollection parameters_;
  Model model_;
  AdamTrainer trainer_;
  Random random_;  ///< for the order of the trees
  ParallelTrainingBatch batch_;
  TrainingFiles files_;
  std::vector<std::uint32_t> sizes_;  ///< of the training trees, in nodes
  Progress progress_;
  double trees_per_second_ = 0;
};

int run(const Options& options) {
  check_report_path(options.report);
  const Task task = load_task(options);
  Training training(options, task);
  fmt::print("{}\n{} parameters, {} threads\n", task.description, training.parameter_count(),
             options.threads);
  std::fflush(stdout);
  if (!training.run()) {
    fmt::print("Stopped and saved. To go on:\n  {}\n", options.resume_command);
    return kInterrupted;
  }
  const Progress& progress = training.progress();
  fmt::print("best: epoch {} with {:.1f} % of the dev trees, in {}; trained for {:.0f} s\n",
             progress.best_epoch, 100 * progress.best_accuracy, training.files().best(),
             progress.seconds);
  const std::vector<Prediction> predictions = training.predictions(task.test);
  print_test(options, task, predictions);
  const BatchingGain gain = training.measure();
  fmt::print("\n{}", to_table(gain, "trees"));
  write_results(options, task, progress, predictions, gain);
  return 0;
}

}  // namespace
}  // namespace dynet_like::examples

int main(int argc, char** argv) {
  using namespace dynet_like;
  try {
    const examples::Options options = examples::parse_options(argc, argv);
    if (options.help) {
      fmt::print("{}", examples::help_text());
      return 0;
    }
    return examples::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "tree_lstm: {}\n", error.what());
    return dynamic_cast<const UsageError*>(&error) != nullptr ? 2 : 1;
  }
}

// Tagger: learns to label the words of sentences, batched automatically across the sentences.
//
// Every sentence is recorded by itself, with plain loops over its words and their characters. Words
// are read by a vector of their own and by two LSTMs over their characters (Ling et al. 2015),
// sentences by LSTMs in both directions; labels are chosen one by one or, with --crf, as a sequence
// (Lample et al. 2016). Run time on two idle cores:
//
//   tagger
//       parts of speech in generated sentences: all test words; 5 seconds
//   tagger --data FOLDER
//       parts of speech in the English Web Treebank (Universal Dependencies 2.16): 95.2 % of the
//       test words; 1 minute
//   tagger --data FOLDER --crf
//       named entities of WNUT-17 (Derczynski et al. 2017): F1 22.3 % on emerging.test.annotated,
//       where most names are new; no vectors from elsewhere; 1 minute
//
// The model is here; what it is trained on, how it is evaluated and applied and how files and flags
// are handled is in tagger/, and what it has in common with other examples in support/.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include <fmt/core.h>

#include "dynet_like/dynet_like.h"
#include "examples/support/lines.h"
#include "examples/support/measure.h"
#include "examples/support/program.h"
#include "examples/support/report_file.h"
#include "examples/support/saved_model.h"
#include "examples/support/training.h"
#include "examples/tagger/options.h"
#include "examples/tagger/prediction.h"
#include "examples/tagger/results.h"
#include "examples/tagger/task.h"
#include "nn/nn.h"

namespace dynet_like::examples {
namespace {

constexpr std::size_t kPredictionBatch = 64;

class Model {
 public:
  Model(ParameterCollection& parameters, const NetworkOptions& options, const Encoding& encoding)
      : words_(parameters, encoding.words().size(), options.embedding, "words"),
        characters_(parameters, encoding.characters().size(), options.characters, "characters"),
        character_lstm_(parameters, options.characters, options.character_hidden, 1, 0,
                        "character_lstm"),
        word_lstm_(parameters, options.embedding + 2 * options.character_hidden, options.hidden,
                   options.layers, options.dropout, "word_lstm"),
        output_(parameters, 2 * options.hidden, encoding.labels().size(), true, "output"),
        dropout_(options.dropout),
        word_dropout_(options.word_dropout),
        label_bias_(encoding.label_bias(options.outside_bias)) {
    if (options.crf) crf_.emplace(parameters, encoding.labels().size());
  }

  /// Records a sentence for training: the sum of the losses of its words.
  Expression loss(ComputationGraph& graph, const EncodedSentence& sentence,
                  const std::vector<unsigned>& labels) const {
    const std::vector<Expression> scores = read(graph, sentence, true);
    if (crf_) return crf_->loss(scores, labels);
    std::vector<Expression> losses;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      losses.push_back(pickneglogsoftmax(scores[i], labels[i]));
    }
    return sum(losses);
  }

  /// A column per word, in which the largest number is that of its label.
  Expression labels(ComputationGraph& graph, const EncodedSentence& sentence) const {
    std::vector<Expression> scores = read(graph, sentence, false);
    if (!label_bias_.empty()) {
      const auto labels = static_cast<unsigned>(label_bias_.size());
      const Expression bias = input(graph, Dim({labels}), label_bias_);
      for (Expression& score : scores) score = score + bias;
    }
    return concatenate_cols(crf_ ? crf_->best(scores) : scores);
  }

 private:
  /// The scores of the labels of every word.
  std::vector<Expression> read(ComputationGraph& graph, const EncodedSentence& sentence,
                               bool training) const {
    std::vector<Expression> words;
    for (std::size_t i = 0; i < sentence.words.size(); ++i) {
      words.push_back(dropout_(word(graph, sentence, i, training), training));
    }
    std::vector<Expression> scores = word_lstm_(words, training);
    for (Expression& score : scores) score = output_(dropout_(score, training));
    return scores;
  }

  Expression word(ComputationGraph& graph, const EncodedSentence& sentence, std::size_t i,
                  bool training) const {
    std::vector<Expression> characters;
    for (const std::uint32_t character : sentence.characters[i]) {
      characters.push_back(characters_(graph, character));
    }
    Expression whole = words_(graph, sentence.words[i]);
    // All of the vector or nothing: so it learns to do without.
    if (training) whole = block_dropout(whole, word_dropout_);
    return concatenate({whole, character_lstm_.final_states(characters)});
  }

  nn::Embedding words_, characters_;
  nn::BidirectionalLSTM character_lstm_, word_lstm_;
  nn::Linear output_;
  std::optional<nn::LinearChainCRF> crf_;
  nn::Dropout dropout_;
  float word_dropout_;
  std::vector<float> label_bias_;  ///< of the scores, when labels are chosen; empty: none
};

/// The model with its sentences, for Training.
class TaggerTrainee : public Trainee {
 public:
  TaggerTrainee(const Model& model, const TaggerOptions& options, const TaggerTask& task)
      : model_(model), options_(options), task_(task), batch_(graph_options()) {}

  Loss run(std::span<const std::uint32_t> samples, std::uint64_t step) override {
    random_ = Random(options_.seed, step);
    batch_.clear();
    batch_.add_losses(samples.size(), [&](ComputationGraph& graph, std::size_t i) {
      return loss(graph, samples[i]);
    });
    std::size_t words = 0;
    for (const std::uint32_t sample : samples) words += task_.train_labels[sample].size();
    return {static_cast<double>(batch_.forward()), words};
  }
  const Gradients& gradients() override { return batch_.backward(); }
  double dev_score() override { return main_score(task_, score(task_.dev)); }

  LabelScore score(const TaggerData& data) const {
    const auto labels =
        predict_labels(data.encoded, kPredictionBatch, options_.threads,
                       [&](ComputationGraph& graph, const EncodedSentence& sentence) {
                         return model_.labels(graph, sentence);
                       });
    LabelScore score;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      std::vector<std::string> found;
      for (const unsigned label : labels[i]) found.push_back(task_.encoding.labels().word(label));
      score.add(data.sentences[i].tags, found);
    }
    return score;
  }

  /// On the first training sentences.
  BatchingGain measure(double training_seconds) const {
    std::vector<std::uint32_t> samples(
        std::min<std::size_t>(options_.batch_size, task_.train_labels.size()));
    std::iota(samples.begin(), samples.end(), 0u);
    return measure_batching(samples, training_seconds, [&](Minibatch& batch, std::uint32_t sample) {
      batch.add_loss(loss(batch.new_graph(), sample));
    });
  }

 private:
  GraphOptions graph_options() {
    GraphOptions options;
    options.threads = options_.threads;
    options.random = &random_;
    return options;
  }

  Expression loss(ComputationGraph& graph, std::uint32_t sample) const {
    return model_.loss(graph, task_.train.encoded[sample], task_.train_labels[sample]);
  }

  const Model& model_;
  const TaggerOptions& options_;
  const TaggerTask& task_;
  Random random_;  ///< for dropout
  Minibatch batch_;
};

/// All that the bits of a model depend on. The number of epochs is not among them: a finished run
/// can be resumed with more.
Metadata settings_of(const TaggerOptions& options, const TaggerTask& task) {
  Metadata settings = metadata_of(options);
  settings["data"] = task.fingerprint;
  settings["--min-count"] = std::to_string(options.min_count);
  settings["--batch-size"] = std::to_string(options.batch_size);
  settings["--learning-rate"] = fmt::format("{}", options.learning_rate);
  settings["--decay"] = fmt::format("{}", options.decay);
  settings["--seed"] = std::to_string(options.seed);
  return settings;
}

TrainingOptions training_options(const TaggerOptions& options, const TaggerTask& task) {
  return {.example = "tagger",
          .unit = "sentences",
          .score_name = task.score_name,
          .epochs = options.epochs,
          .batch_size = options.batch_size,
          .learning_rate = options.learning_rate,
          .decay = options.decay,
          .seed = options.seed,
          .output = options.output,
          .resume = options.resume,
          .settings = settings_of(options, task),
          .vocabularies = task.encoding.vocabularies()};
}

int train(const TaggerOptions& options) {
  check_writable(options.report);
  const TaggerTask task = load_tagger_task(options);
  ParameterCollection parameters(options.seed);
  const Model model(parameters, options, task.encoding);
  AdamTrainer trainer(parameters, options.learning_rate);
  // Over about the last epoch: averages are better than the last values, and less of an accident.
  const double steps =
      std::ceil(static_cast<double>(task.train_labels.size()) / options.batch_size);
  trainer.exponential_moving_average(static_cast<float>(1 - 1 / std::max(steps, 2.0)));
  TaggerTrainee trainee(model, options, task);
  Training training(training_options(options, task), sentence_sizes(task.train.encoded), parameters,
                    trainer, trainee);
  fmt::print("{}\n{} parameters, {} threads\n", task.description, parameters.parameter_count(),
             options.threads);
  flush_output();
  if (!training.run()) return stopped(options.resume_command);
  const LabelScore score = trainee.score(task.test);
  const BatchingGain gain = trainee.measure(training.progress().seconds);
  print_results(task, training, score, gain);
  write_results(options, task, training, score, gain);
  return 0;
}

int apply(const TaggerOptions& options) {
  const SavedModel saved(options.output, "tagger");
  const Encoding encoding(saved);
  NetworkOptions network;
  read_network(saved.options(), network);
  ParameterCollection parameters;
  const Model model(parameters, network, encoding);
  saved.load(parameters);
  answer_lines(std::cin, std::cout, options.batch_size, [&](const auto& lines, std::size_t) {
    return label_lines(lines, encoding, options.threads,
                       [&](ComputationGraph& graph, const EncodedSentence& sentence) {
                         return model.labels(graph, sentence);
                       });
  });
  return 0;
}

}  // namespace
}  // namespace dynet_like::examples

int main(int argc, char** argv) {
  using namespace dynet_like::examples;
  return run_program("tagger", [&] {
    const TaggerOptions options = parse_tagger_options(argc, argv);
    if (options.help) {
      fmt::print("{}", tagger_help_text());
      return 0;
    }
    return options.apply ? apply(options) : train(options);
  });
}

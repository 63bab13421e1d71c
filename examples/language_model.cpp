// Language model: learns to predict a text, batched automatically across streams of it.
//
// Every stream is recorded by itself, with a plain loop over its characters or words; the library
// finds out what can be computed together. The model is LSTMs on top of each other, with dropout
// between them (Zaremba et al. 2014, "Recurrent Neural Network Regularization"), trained by
// truncated backpropagation: what a stream has read is data for its next piece. Times are those of
// the processor; two idle cores take half as long:
//
//   language_model
//       sentences of a small grammar: 0.355 nats per character, where 0.337 are the least that any
//       model can reach; 13 seconds
//   language_model --data FILE
//       Shakespeare's plays, 1.1 million characters (Karpathy 2015): 1.53 nats per character of the
//       last tenth after 5 epochs, 1.49 after 8; 8.4 minutes
//
// The model is language_model/model.h, truncated backpropagation language_model/streams.h; what the
// example has in common with others is in support/.
#include <cmath>
#include <iostream>
#include <vector>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "dynet_like/dynet_like.h"
#include "examples/language_model/model.h"
#include "examples/language_model/options.h"
#include "examples/language_model/task.h"
#include "examples/language_model/trainee.h"
#include "examples/language_model/use.h"
#include "examples/support/lines.h"
#include "examples/support/program.h"
#include "examples/support/report_file.h"
#include "examples/support/training.h"

namespace dynet_like::examples {
namespace {

// What is written after training.
constexpr unsigned kSampleCharacters = 300, kSampleWords = 60;
constexpr std::size_t kLinesTogether = 64;

void print_and_report(const Options& options, const Task& task, const Training& training) {
  const Progress& progress = training.progress();
  const double nats = -progress.best_score;
  fmt::print("best: epoch {} with {:.4f} nats per character of the held-out text",
             progress.best_epoch, nats);
  nlohmann::json results = {{"nats_per_character", nats},
                            {"epochs", progress.epochs},
                            {"best_epoch", progress.best_epoch},
                            {"seconds", progress.seconds},
                            {"characters_per_second", nullptr}};  // unless it has trained
  if (const double speed = training.units_per_second(); speed > 0) {
    results["characters_per_second"] = speed;
  }
  if (task.encoding.unit == nn::TextUnit::word) {
    // The end of a line counts as a word.
    const double perplexity = std::exp(nats * static_cast<double>(task.held_out_characters) /
                                       static_cast<double>(task.held_out_size()));
    results["perplexity_per_word"] = perplexity;
    fmt::print(", perplexity {:.1f} per word", perplexity);
  }
  fmt::print(", in {}; trained for {:.0f} s\n", training.best(), progress.seconds);
  write_report(options.report, results);
}

int train(const Options& options) {
  check_writable(options.report);
  const Task task = load_task(options);
  ParameterCollection parameters(options.seed);
  const LanguageModel model(parameters, model_options(options, task.encoding));
  fmt::print("{}\n{} parameters, {} threads\n", task.description, parameters.parameter_count(),
             options.threads);
  flush_output();
  AdamTrainer trainer(parameters, options.learning_rate);
  // A checkpoint in the middle of an epoch needs the states of the streams, too.
  TextTrainee trainee(model, options, task, parameters.add_subcollection("streams"));
  const Streams& streams = trainee.streams();
  // Losses are summed: the gradient is that of the mean loss times their number.
  trainer.enable_clipping(options.clip * static_cast<float>(streams.predictions(0)));
  Training training(training_options(options, task, streams),
                    std::vector<std::uint32_t>(streams.pieces(), 1), parameters, trainer, trainee);
  if (!training.run()) return stopped(options.resume_command);
  print_and_report(options, task, training);
  const bool is_words = task.encoding.unit == nn::TextUnit::word;
  const unsigned count = is_words ? kSampleWords : kSampleCharacters;
  fmt::print("\n{}\n", sampled_text(model, task.encoding, options, count));
  return 0;
}

int use(const Options& options) {
  const TrainedModel trained(options.output);
  if (options.apply) {
    answer_lines(std::cin, std::cout, kLinesTogether, [&](const auto& lines, std::size_t) {
      return nats_of_lines(lines, trained.model(), trained.encoding(), options.threads);
    });
  } else {
    fmt::print("{}\n", sampled_text(trained.model(), trained.encoding(), options, options.sample));
  }
  return 0;
}

}  // namespace
}  // namespace dynet_like::examples

int main(int argc, char** argv) {
  using namespace dynet_like::examples;
  return run_program("language_model", [&] {
    const Options options = parse_options(argc, argv);
    if (options.help) {
      fmt::print("{}", help_text());
      return 0;
    }
    return options.apply || options.sample > 0 ? use(options) : train(options);
  });
}

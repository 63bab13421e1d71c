// A training step of the language model, and what its bits depend on.
#include "examples/language_model/trainee.h"

#include <fmt/core.h>

namespace dynet_like::examples {

namespace {

constexpr unsigned kHeldOutStreams = 32;

GraphOptions graph_options(unsigned threads, Random& random) {
  GraphOptions options;
  options.threads = threads;
  options.random = &random;
  return options;
}

/// But for "data", flags by their names. The number of epochs is not among them: a finished run can
/// be resumed with more.
Metadata settings_of(const Options& options, const Task& task) {
  const auto real = [](float number) { return fmt::format("{}", number); };  // reads back the same
  return {{"data", task.fingerprint},
          {"--level", options.level},
          {"--min-count", std::to_string(options.min_count)},
          {"--embedding", std::to_string(options.embedding)},
          {"--hidden", std::to_string(options.hidden)},
          {"--layers", std::to_string(options.layers)},
          {"--dropout", real(options.dropout)},
          {"--batch-size", std::to_string(options.batch_size)},
          {"--sequence-length", std::to_string(options.sequence_length)},
          {"--learning-rate", real(options.learning_rate)},
          {"--decay", real(options.decay)},
          {"--clip", real(options.clip)},
          {"--seed", std::to_string(options.seed)}};
}

}  // namespace

TextTrainee::TextTrainee(const LanguageModel& model, const Options& options, const Task& task,
                         ParameterCollection states)
    : model_(model),
      options_(options),
      task_(task),
      streams_(task.train(), options.batch_size, options.sequence_length),
      reader_(model, streams_, std::move(states)),
      batch_(graph_options(options.threads, random_)) {}

Trainee::Loss TextTrainee::run(std::span<const std::uint32_t> pieces, std::uint64_t step) {
  random_ = Random(options_.seed, step);
  batch_.clear();
  reader_.add_losses(batch_, pieces.front(), true);
  const auto loss = static_cast<double>(batch_.forward());
  gradients_ = &batch_.backward();
  reader_.keep_states();
  return {loss, streams_.predictions(pieces.front())};
}

double TextTrainee::dev_score() {
  const double nats = total_nats(model_, task_.held_out(), kHeldOutStreams, options_.threads);
  return -nats / static_cast<double>(task_.held_out_characters);
}

std::string TextTrainee::score_text(double score) const { return fmt::format("{:.4f}", -score); }

ModelOptions model_options(const Options& options, const Encoding& encoding) {
  return {.units = encoding.vocabulary.size(),
          .embedding = options.embedding,
          .hidden = options.hidden,
          .layers = options.layers,
          .dropout = options.dropout};
}

TrainingOptions training_options(const Options& options, const Task& task, const Streams& streams) {
  return {.example = "language_model",
          .unit = "characters",
          .score_name = "nats per character",
          .units_per_sample =
              static_cast<double>(task.train_characters) / static_cast<double>(streams.pieces()),
          .in_order = true,
          .epochs = options.epochs,
          .batch_size = 1,
          .learning_rate = options.learning_rate,
          .decay = options.decay,
          .seed = options.seed,
          .output = options.output,
          .resume = options.resume,
          .settings = settings_of(options, task),
          .vocabularies = {{"vocabulary", task.encoding.vocabulary.to_text()}}};
}

}  // namespace dynet_like::examples

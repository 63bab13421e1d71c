// Progress as the metadata of a checkpoint, beside the settings that must not change.
#include "examples/tree_lstm/progress.h"

#include <filesystem>

#include <fmt/core.h>

#include "dynet_like/io/safetensors.h"

namespace dynet_like::examples {

namespace {

/// All that the bits of a model depend on; but for "task" and "data", flags by their names. The
/// number of epochs is not among them: a finished run can be resumed with more.
Metadata settings_of(const Options& options, const Task& task) {
  const auto real = [](float number) { return fmt::format("{}", number); };  // reads back the same
  return {{"task", task.name},
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

void check_settings(const std::string& file, const Metadata& saved, const Metadata& now) {
  for (const auto& [name, value] : now) {
    const auto found = saved.find(name);
    if (found == saved.end()) throw FileError(file, "need a checkpoint of this example");
    if (found->second == value) continue;
    throw UsageError(fmt::format("need the same settings to go on from {}: {} was {}; got {}", file,
                                 name, found->second, value));
  }
}

}  // namespace

TrainingFiles::TrainingFiles(const Options& options, const Task& task)
    : settings_(settings_of(options, task)) {
  const std::filesystem::path folder = options.output;
  if (!options.resume) std::filesystem::create_directories(folder);
  checkpoint_ = folder / "checkpoint.safetensors";
  best_ = folder / "best.safetensors";
}

void TrainingFiles::save(const ParameterCollection& parameters, Trainer& trainer,
                         const Random& random, const Progress& progress) const {
  Metadata metadata = settings_;
  metadata["epochs"] = std::to_string(progress.epochs);
  metadata["minibatches"] = std::to_string(progress.minibatches);
  metadata["loss"] = number_text(progress.loss);
  metadata["losses"] = std::to_string(progress.losses);
  metadata["best_epoch"] = std::to_string(progress.best_epoch);
  metadata["best_accuracy"] = number_text(progress.best_accuracy);
  metadata["seconds"] = number_text(progress.seconds);
  save_checkpoint(checkpoint_, parameters, trainer, random, metadata);
}

Progress TrainingFiles::resume(const ParameterCollection& parameters, Trainer& trainer,
                               Random& random) const {
  check_settings(checkpoint_, SafetensorsFile::read(checkpoint_).metadata(), settings_);
  const Metadata metadata = load_checkpoint(checkpoint_, parameters, trainer, random);
  Progress progress;
  progress.epochs = static_cast<unsigned>(number_of(metadata, "epochs"));
  progress.minibatches = static_cast<std::size_t>(number_of(metadata, "minibatches"));
  progress.loss = number_of(metadata, "loss");
  progress.losses = static_cast<std::size_t>(number_of(metadata, "losses"));
  progress.best_epoch = static_cast<unsigned>(number_of(metadata, "best_epoch"));
  progress.best_accuracy = number_of(metadata, "best_accuracy");
  progress.seconds = number_of(metadata, "seconds");
  return progress;
}

void TrainingFiles::save_best(const ParameterCollection& parameters,
                              const Progress& progress) const {
  Metadata metadata = settings_;
  metadata["epoch"] = std::to_string(progress.best_epoch);
  metadata["dev_accuracy"] = number_text(progress.best_accuracy);
  save_parameters(best_, parameters, metadata);
}

void TrainingFiles::load_best(const ParameterCollection& parameters) const {
  load_parameters(best_, parameters);
}

}  // namespace dynet_like::examples

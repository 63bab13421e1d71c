// The training loop, and its progress as the metadata of a checkpoint.
#include "examples/support/training.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <utility>

#include <fmt/core.h>

#include "dynet_like/core/text.h"
#include "dynet_like/io/safetensors.h"
#include "examples/support/program.h"
#include "examples/support/report_file.h"
#include "examples/support/saved_model.h"
#include "nn/train/progress_bar.h"

namespace dynet_like::examples {

namespace {

constexpr std::size_t kPoolBatches = 50;  // samples are sorted by size within so many minibatches

void check_settings(const std::string& file, const Metadata& saved, const Metadata& now) {
  const auto value_of = [&](const std::string& name) {
    const auto found = saved.find(name);
    return found == saved.end() ? "missing" : found->second;
  };
  if (const std::string example = value_of("example"); example != now.at("example")) {
    throw FileError(file, fmt::format("need a checkpoint of {}; got one of {}", now.at("example"),
                                      quoted_text(example)));
  }
  for (const auto& [name, value] : now) {
    if (value_of(name) == value) continue;
    throw UsageError(fmt::format("need the same settings to go on from {}: {} was {}; got {}", file,
                                 name, value_of(name), value));
  }
}

}  // namespace

std::string Trainee::score_text(double score) const { return fmt::format("{:.2f} %", 100 * score); }

Training::Training(TrainingOptions options, std::vector<std::uint32_t> sizes,
                   const ParameterCollection& parameters, Trainer& trainer, Trainee& trainee)
    : options_(std::move(options)),
      sizes_(std::move(sizes)),
      parameters_(parameters),
      trainer_(trainer),
      trainee_(trainee),
      random_(options_.seed),
      checkpoint_(std::filesystem::path(options_.output) / "checkpoint.safetensors"),
      best_(best_file(options_.output)) {
  options_.settings["example"] = options_.example;
  if (options_.resume) {
    resume();
  } else {
    std::filesystem::create_directories(options_.output);
  }
  for (const std::string& file : {checkpoint_, best_}) check_writable(file);
}

bool Training::run() {
  const nn::InterruptWatch watch;
  while (progress_.epochs < options_.epochs && !watch.interrupted()) {
    if (train_epoch(watch)) finish_epoch();
  }
  if (watch.interrupted()) {
    save();
  } else {
    load_parameters(best_, parameters_);
  }
  return !watch.interrupted();
}

double Training::units_per_second() const {
  return trained_seconds_ > 0 ? trained_units_ / trained_seconds_ : 0;
}

nn::Minibatches Training::epoch_minibatches(Random& random) const {
  if (options_.in_order) return nn::sorted_minibatches(sizes_, options_.batch_size);
  return nn::similar_size_minibatches(sizes_, options_.batch_size, kPoolBatches, random);
}

/// Goes on with the epoch where it is; false after Ctrl-C.
bool Training::train_epoch(const nn::InterruptWatch& watch) {
  // A copy: until the epoch is complete, a checkpoint needs the numbers that it began with.
  Random random = random_;
  const nn::Minibatches minibatches = epoch_minibatches(random);
  const auto units = [&](std::size_t samples) {
    return static_cast<std::size_t>(static_cast<double>(samples) * options_.units_per_sample);
  };
  trainer_.learning_rate =
      options_.learning_rate * std::pow(options_.decay, static_cast<float>(progress_.epochs));
  nn::ProgressBar bar(fmt::format("epoch {}/{}", progress_.epochs + 1, options_.epochs),
                      units(sizes_.size()), options_.unit,
                      units(progress_.minibatches * options_.batch_size));
  while (progress_.minibatches < minibatches.size() && !watch.interrupted()) {
    const std::vector<std::uint32_t>& samples = minibatches[progress_.minibatches];
    train_minibatch(samples);
    trained_units_ += static_cast<double>(units(samples.size()));
    bar.advance(units(samples.size()), progress_.mean_loss());
  }
  progress_.seconds += bar.seconds();
  trained_seconds_ += bar.seconds();
  if (progress_.minibatches < minibatches.size()) return false;
  random_ = random;
  return true;
}

void Training::train_minibatch(const std::vector<std::uint32_t>& samples) {
  const Trainee::Loss loss = trainee_.run(samples, trainer_.updates());
  trainer_.update(trainee_.gradients());
  progress_.loss += loss.sum;
  progress_.losses += loss.count;
  ++progress_.minibatches;
}

/// Evaluates the model on the dev samples, and keeps it if it is the best so far: with the averages
/// of its parameters, if the trainer takes them.
void Training::finish_epoch() {
  const auto start = std::chrono::steady_clock::now();
  const bool is_averaged = trainer_.moving_average() != MovingAverage::None;
  if (is_averaged) trainer_.swap_params_to_moving_average(true, true);
  const double score = trainee_.dev_score();
  const bool is_best = progress_.best_epoch == 0 || score > progress_.best_score;
  const double loss = progress_.mean_loss();
  ++progress_.epochs;
  progress_.minibatches = 0;
  progress_.loss = 0;
  progress_.losses = 0;
  if (is_best) {
    progress_.best_epoch = progress_.epochs;
    progress_.best_score = score;
    save_best();
  }
  if (is_averaged) trainer_.swap_params_to_weights();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  progress_.seconds += seconds.count();
  save();
  fmt::print("epoch {}: loss {:.4f}, dev {} {}, {:.0f} {}/s{}\n", progress_.epochs, loss,
             options_.score_name, trainee_.score_text(score), units_per_second(), options_.unit,
             is_best ? ", best so far" : "");
  flush_output();
}

void Training::save() {
  Metadata metadata = options_.settings;
  metadata["epochs"] = std::to_string(progress_.epochs);
  metadata["minibatches"] = std::to_string(progress_.minibatches);
  metadata["loss"] = number_text(progress_.loss);
  metadata["losses"] = std::to_string(progress_.losses);
  metadata["best_epoch"] = std::to_string(progress_.best_epoch);
  metadata["seconds"] = number_text(progress_.seconds);
  save_checkpoint(checkpoint_, parameters_, trainer_, random_, metadata);
}

void Training::resume() {
  check_settings(checkpoint_, SafetensorsFile::read(checkpoint_).metadata(), options_.settings);
  const Metadata metadata = load_checkpoint(checkpoint_, parameters_, trainer_, random_);
  progress_.epochs = static_cast<unsigned>(number_of(metadata, "epochs"));
  progress_.minibatches = static_cast<std::size_t>(number_of(metadata, "minibatches"));
  progress_.loss = number_of(metadata, "loss");
  progress_.losses = static_cast<std::size_t>(number_of(metadata, "losses"));
  progress_.best_epoch = static_cast<unsigned>(number_of(metadata, "best_epoch"));
  progress_.seconds = number_of(metadata, "seconds");
  if (progress_.best_epoch > 0) resume_best();
}

/// The best model is written before the checkpoint: it may be of an epoch that the checkpoint
/// begins anew. Another run in the same folder may have replaced it, too.
void Training::resume_best() {
  const Metadata saved = SafetensorsFile::read(best_).metadata();
  const Metadata wanted = model_metadata();
  if (!std::includes(saved.begin(), saved.end(), wanted.begin(), wanted.end()) ||
      number_of(saved, "epoch") < progress_.best_epoch) {
    throw FileError(best_, fmt::format("need the best model of the run that {} goes on with; got "
                                       "that of another run",
                                       checkpoint_));
  }
  progress_.best_epoch = static_cast<unsigned>(number_of(saved, "epoch"));
  progress_.best_score = number_of(saved, "dev_score");
}

/// What a model is used with.
Metadata Training::model_metadata() const {
  Metadata metadata = options_.settings;
  metadata.insert(options_.vocabularies.begin(), options_.vocabularies.end());
  return metadata;
}

void Training::save_best() const {
  Metadata metadata = model_metadata();
  metadata["epoch"] = std::to_string(progress_.best_epoch);
  metadata["dev_score"] = number_text(progress_.best_score);
  save_parameters(best_, parameters_, metadata);
}

}  // namespace dynet_like::examples

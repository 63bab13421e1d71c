// TrainingState: what the parts of a training run share: options, the model and progress.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "dynet_like/distributed/communicator.h"
#include "dynet_like/io/model_file.h"
#include "dynet_like/train/trainer.h"
#include "nn/train/group_schedule.h"
#include "nn/train/timed_minibatches.h"
#include "nn/train/training_options.h"
#include "nn/train/training_progress.h"

namespace dynet_like::nn {

/// The result of an epoch.
struct Evaluation {
  std::optional<double> score = {};
  double loss = 0;
  bool is_best = false;
  std::uint64_t skipped = 0;
};

struct TrainingState {
  /// The prefix of the run's own settings.
  static constexpr const char* kOwn = "training.";

  TrainingOptions options;
  std::shared_ptr<Communicator> ranks;
  ParameterCollection model;
  Trainer& trainer;
  GroupSchedule groups;
  TimedMinibatches timed;
  /// The program's settings, and those of the run that results depend on.
  Metadata settings;
  TrainingProgress progress;
  bool is_saved = false;  ///< whether the checkpoint has this state

  /// Throws UsageError for invalid options.
  TrainingState(const ParameterCollection& model, Trainer& trainer, TrainingOptions options);

  bool is_writer() const { return ranks->rank() == 0; }
  /// Whether ranks train without waiting for each other: see TrainingOptions::relaxation.
  bool is_relaxed() const;
  /// Whether training ends: after all epochs, or after too many without a better score.
  bool is_enough() const;
  /// The schedule's learning rate after `updates` updates.
  float scheduled_rate(std::uint64_t updates) const;
  void set_learning_rate();

  Evaluation evaluation(std::optional<double> score) const;
  /// The progress after an epoch, with its row of the learning curve.
  TrainingProgress progress_after(const Evaluation& evaluation,
                                  const std::map<std::string, double>& row) const;

  /// Throws UsageError unless the text is UTF-8, as files need: before an epoch, not after it.
  static void check_text(const std::string& text);

 private:
  void check_options() const;
  Metadata all_settings() const;
};

}  // namespace dynet_like::nn

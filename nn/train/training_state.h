// What all parts of a training run share: its options, the model, and how far it is.
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

/// What came of an epoch.
struct Evaluation {
  std::optional<double> score = {};
  double loss = 0;
  bool is_best = false;
  std::uint64_t skipped = 0;
};

struct TrainingState {
  /// What the keys of a run's own settings begin with.
  static constexpr const char* kOwn = "training.";

  TrainingOptions options;
  std::shared_ptr<Communicator> ranks;
  ParameterCollection model;
  Trainer& trainer;
  GroupSchedule groups;
  TimedMinibatches timed;
  /// The program's, and those of the run that bits depend on.
  Metadata settings;
  TrainingProgress progress;
  bool is_saved = false;  ///< in the checkpoint, as it is

  /// Throws UsageError for options that make no sense.
  TrainingState(const ParameterCollection& model, Trainer& trainer, TrainingOptions options);

  bool is_writer() const { return ranks->rank() == 0; }
  /// Whether ranks do not wait for each other after every minibatch.
  bool is_relaxed() const;
  /// Whether there are enough epochs, or too many without a better score.
  bool is_enough() const;
  /// Of the schedule, for the update that so many come before.
  float scheduled_rate(std::uint64_t updates) const;
  void set_learning_rate();

  Evaluation evaluation(std::optional<double> score) const;
  /// With the epoch's row of the learning curve.
  TrainingProgress progress_after(const Evaluation& evaluation,
                                  const std::map<std::string, double>& row) const;

  /// Files have nothing but UTF-8: better to say so before an epoch than after it.
  static void check_text(const std::string& text);

 private:
  void check_options() const;
  Metadata all_settings() const;
};

}  // namespace dynet_like::nn

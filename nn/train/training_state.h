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
  std::uint64_t skipped = 0, without_loss = 0;
};

struct TrainingState {
  TrainingOptions options;
  std::shared_ptr<Communicator> ranks;
  ParameterCollection model;
  Trainer& trainer;
  GroupSchedule groups;
  TimedMinibatches timed;
  /// What bits depend on: see run_settings.h.
  Metadata settings, conditions;
  TrainingProgress progress;
  bool is_saved = false;  ///< whether the checkpoint has this state

  /// `loop`: further settings, of the loop. Throws UsageError for invalid options.
  TrainingState(const ParameterCollection& model, Trainer& trainer, TrainingOptions options,
                const Metadata& loop = {});

  bool is_writer() const { return ranks->rank() == 0; }
  bool is_relaxed() const { return options.is_relaxed(); }
  /// Whether training ends: after all epochs, or after too many without a better score.
  bool is_enough() const;
  /// The schedule's learning rate after `updates` updates.
  float scheduled_rate(std::uint64_t updates) const;
  void set_learning_rate();

  Evaluation evaluation(std::optional<double> score) const;
  /// The progress after an epoch, with its row of the learning curve.
  TrainingProgress progress_after(const Evaluation& evaluation,
                                  const std::map<std::string, double>& row) const;
};

}  // namespace dynet_like::nn

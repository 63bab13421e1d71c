// Evaluation: what an epoch has come to, and what follows for the next one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

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

/// The result of the epoch that ends. Throws NumericError for a score of NaN, unless those are
/// skipped.
Evaluation evaluation_of(const TrainingProgress& progress, std::optional<double> score,
                         const TrainingOptions& options);
/// The progress after that epoch, with its row of the learning curve.
TrainingProgress progress_after(const TrainingProgress& progress, const Evaluation& evaluation,
                                const TrainingOptions& options,
                                const std::map<std::string, double>& row);
/// Whether training ends: after all epochs, or after too many without a better score.
bool is_enough(const TrainingProgress& progress, const TrainingOptions& options);
/// The learning rate after `updates` updates. There must be a schedule.
float scheduled_rate(const ScheduleOptions& schedule, const TrainingProgress& progress,
                     std::uint64_t updates);

}  // namespace dynet_like::nn

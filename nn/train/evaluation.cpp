// Evaluation: scores, patience and rates, as functions of the progress.
#include "nn/train/evaluation.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

// NaN is never better.
bool is_better(std::optional<double> score, const TrainingProgress& progress, Better better) {
  if (!score) return true;
  if (std::isnan(*score)) return false;
  if (progress.best_epoch == 0) return true;
  return better == Better::larger ? *score > progress.best_score : *score < progress.best_score;
}

}  // namespace

Evaluation evaluation_of(const TrainingProgress& progress, std::optional<double> score,
                         const TrainingOptions& options) {
  if (score && std::isnan(*score) && options.not_finite == NotFinite::fail) {
    throw NumericError(fmt::format(
        "[TrainingRun] need a number as the dev {} of epoch {}; got nan: are there dev samples?",
        options.report.score_name, progress.epochs + 1));
  }
  Evaluation evaluation;
  evaluation.score = score;
  // Without losses, as when all updates were skipped, there is no mean: NaN makes a gap in the
  // curve.
  evaluation.loss =
      progress.losses > 0 ? progress.mean_loss() : std::numeric_limits<double>::quiet_NaN();
  evaluation.is_best = is_better(score, progress, options.stopping.better);
  evaluation.skipped = progress.skipped - progress.skipped_before;
  evaluation.without_loss = progress.without_loss - progress.without_loss_before;
  return evaluation;
}

TrainingProgress progress_after(const TrainingProgress& progress, const Evaluation& evaluation,
                                const TrainingOptions& options,
                                const std::map<std::string, double>& row) {
  TrainingProgress after = progress;
  ++after.epochs;
  after.minibatches = 0;
  after.order = 0;
  after.loss = 0;
  after.losses = 0;
  after.skipped_before = after.skipped;
  after.without_loss_before = after.without_loss;
  if (evaluation.is_best) {
    after.best_epoch = after.epochs;
    after.best_score = evaluation.score.value_or(0);
  }
  if (options.schedule.plateau) {
    after.plateau = options.schedule.plateau->after_epoch(after.plateau, evaluation.is_best);
  }
  after.curve.add(row);
  return after;
}

bool is_enough(const TrainingProgress& progress, const TrainingOptions& options) {
  const unsigned patience = options.stopping.patience;
  return progress.epochs >= options.epochs ||
         (patience > 0 && progress.epochs >= std::uint64_t{progress.best_epoch} + patience);
}

float scheduled_rate(const ScheduleOptions& schedule, const TrainingProgress& progress,
                     std::uint64_t updates) {
  const std::uint64_t step = schedule.by_epoch ? progress.epochs : updates;
  return schedule.rate->rate(step) * progress.plateau.scale;
}

}  // namespace dynet_like::nn

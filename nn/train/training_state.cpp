// TrainingState: derives rates and results from the progress.
#include "nn/train/training_state.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "nn/train/run_settings.h"

namespace dynet_like::nn {

namespace {

// Otherwise the trainer would train parameters that the run does not save.
void check_trainer(const ParameterCollection& model, const Trainer& trainer) {
  const bool is_one_model = &trainer.parameters().get_storage() == &model.get_storage();
  for (const auto& parameter : trainer.parameters().storages()) {
    if (is_one_model && model.contains(*parameter)) continue;
    throw UsageError(fmt::format(
        "[TrainingRun] need a trainer whose parameters are all in the model; got one of {}, which "
        "is not in \"{}\": make it for the same collection",
        detail::quoted_text(parameter->name), model.get_fullname()));
  }
}

// NaN is never better.
bool is_better(std::optional<double> score, const TrainingProgress& progress, Better better) {
  if (!score) return true;
  if (std::isnan(*score)) return false;
  if (progress.best_epoch == 0) return true;
  return better == Better::larger ? *score > progress.best_score : *score < progress.best_score;
}

}  // namespace

TrainingState::TrainingState(const ParameterCollection& model, Trainer& trainer,
                             TrainingOptions options, const Metadata& loop)
    : options(std::move(options)),
      ranks(this->options.ranks != nullptr ? this->options.ranks : single_process()),
      model(model),
      trainer(trainer),
      groups(model, trainer, this->options.groups),
      timed(this->options.timeline, this->options.timeline_minibatches,
            this->options.timeline_file) {
  check_trainer(model, trainer);
  this->options.check(ranks->size());
  if (this->options.plateau && !this->options.schedule) {
    this->options.schedule = trainer.learning_rate;
  }
  settings = settings_of(*this);
  settings.insert(loop.begin(), loop.end());
  conditions = conditions_of(model);
}

bool TrainingState::is_enough() const {
  return progress.epochs >= options.epochs ||
         (options.patience > 0 &&
          progress.epochs >= std::uint64_t{progress.best_epoch} + options.patience);
}

float TrainingState::scheduled_rate(std::uint64_t updates) const {
  const std::uint64_t step = options.schedule_by_epoch ? progress.epochs : updates;
  return options.schedule->rate(step) * progress.plateau.scale;
}

void TrainingState::set_learning_rate() {
  if (options.schedule) trainer.learning_rate = scheduled_rate(progress.updates);
}

Evaluation TrainingState::evaluation(std::optional<double> score) const {
  if (score && std::isnan(*score) && options.not_finite == NotFinite::fail) {
    throw NumericError(fmt::format(
        "[TrainingRun] need a number as the dev {} of epoch {}; got nan: are there dev samples?",
        options.score_name, progress.epochs + 1));
  }
  Evaluation evaluation;
  evaluation.score = score;
  // Without losses, as when all updates were skipped, there is no mean: NaN makes a gap in the
  // curve.
  evaluation.loss =
      progress.losses > 0 ? progress.mean_loss() : std::numeric_limits<double>::quiet_NaN();
  evaluation.is_best = is_better(score, progress, options.better);
  evaluation.skipped = progress.skipped - progress.skipped_before;
  evaluation.without_loss = progress.without_loss - progress.without_loss_before;
  return evaluation;
}

TrainingProgress TrainingState::progress_after(const Evaluation& evaluation,
                                               const std::map<std::string, double>& row) const {
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
  if (options.plateau) {
    after.plateau = options.plateau->after_epoch(after.plateau, evaluation.is_best);
  }
  after.curve.add(row);
  return after;
}

}  // namespace dynet_like::nn

// TrainingState: checks options, and derives rates and results from the progress.
#include "nn/train/training_state.h"

#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/core/text.h"
#include "dynet_like/io/tensor_file.h"

namespace dynet_like::nn {

namespace {

void check_is_for_loop(const TrainingOptions& options) {
  if (options.sizes.empty() && options.dev_score == nullptr) return;
  throw UsageError(fmt::format(
      "[TrainingRun] need {} in a loop of your own; got it in the options, which is for "
      "nn::train",
      options.sizes.empty() ? "the dev score as an argument of finish_epoch()"
                            : "sizes as an argument of minibatches()"));
}

void check_metadata(const Metadata& metadata) {
  for (const auto& [key, value] : metadata) {
    TrainingState::check_text(key);
    TrainingState::check_text(value);
    if (!key.starts_with(TrainingState::kOwn) && !key.starts_with(detail::tensor_file::kReserved)) {
      continue;
    }
    throw UsageError(
        fmt::format("[TrainingRun] need keys of settings, texts and arguments that do not begin "
                    "with \"{}\" or \"{}\"; got {}",
                    TrainingState::kOwn, detail::tensor_file::kReserved, detail::quoted_text(key)));
  }
}

// A file that stores both would lose one of them.
void check_other_keys(const Metadata& settings, const Metadata& others, const char* name) {
  for (const auto& [key, value] : settings) {
    if (!others.contains(key)) continue;
    throw UsageError(
        fmt::format("[TrainingRun] need other keys in settings than in texts and arguments; got {} "
                    "in settings and {}",
                    detail::quoted_text(key), name));
  }
}

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
                             TrainingOptions options)
    : options(std::move(options)),
      ranks(this->options.ranks != nullptr ? this->options.ranks : single_process()),
      model(model),
      trainer(trainer),
      groups(model, trainer, this->options.groups),
      timed(this->options.timeline, this->options.timeline_minibatches,
            this->options.timeline_file) {
  check_is_for_loop(this->options);
  check_trainer(model, trainer);
  check_options();
  if (this->options.plateau && !this->options.schedule) {
    this->options.schedule = trainer.learning_rate;
  }
  settings = all_settings();
}

void TrainingState::check_options() const {
  const auto need = [](bool condition, const char* rule, const std::string& got) {
    if (!condition) throw UsageError(fmt::format("[TrainingRun] need {}; got {}", rule, got));
  };
  need(options.batch_size > 0, "a batch size above 0", "0");
  need(options.accumulate > 0, "1 minibatch per update or more", "0");
  need(is_relaxed() || options.shards >= ranks->size(),
       "a shard for each rank (a run that has begun with fewer goes on with fewer ranks)",
       fmt::format("{} for {}", options.shards, detail::counted(ranks->size(), "rank")));
  if (is_relaxed()) options.relaxation->check(ranks->size());
  need(!is_relaxed() || options.accumulate == 1,
       "1 minibatch per update where ranks do not wait for each other",
       fmt::to_string(options.accumulate));
  need(options.units_per_sample > 0 && std::isfinite(options.units_per_sample),
       "units per sample above 0", fmt::to_string(options.units_per_sample));
  need(!options.resume || !options.output.empty(),
       "TrainingOptions::output to resume, the folder of the earlier run", "\"\"");
  need(!options.events || !options.output.empty(), "TrainingOptions::output for events, a folder",
       "\"\"");
  if (options.plateau) options.plateau->check();
  check_text(options.score_name);
  need(options.score_name != "epoch", "a name of the score that reports do not use", "\"epoch\"");
  check_metadata(options.settings);
  check_metadata(options.arguments);
  check_metadata(options.texts);
  check_other_keys(options.settings, options.texts, "texts");
  check_other_keys(options.settings, options.arguments, "arguments");
}

Metadata TrainingState::all_settings() const {
  Metadata all = options.settings;
  const auto add = [&](const char* name, const std::string& value) {
    all[kOwn + std::string(name)] = value;
  };
  add("batch_size", fmt::to_string(options.batch_size));
  add("accumulate", fmt::to_string(options.accumulate));
  add("sum_losses", options.sum_losses ? "yes" : "no");
  add("better", options.better == Better::larger ? "larger" : "smaller");
  add("schedule", options.schedule ? options.schedule->description() : "none");
  add("schedule_by_epoch", options.schedule_by_epoch ? "yes" : "no");
  add("plateau", options.plateau ? options.plateau->description() : "none");
  add("groups", groups.description());
  add("seed", fmt::to_string(options.seed));
  for (const auto& [name, value] : trainer.settings()) {
    // A schedule changes the rate, groups are part of the kind, and both are in the state.
    if (name != "learning rate" && name != "kind" && name != "weights") add(name.c_str(), value);
  }
  add("shards", options.shards == 1 ? "none" : fmt::to_string(options.shards));
  return all;
}

void TrainingState::check_text(const std::string& text) {
  if (detail::is_utf8(text)) return;
  throw UsageError(
      fmt::format("[TrainingRun] need text in UTF-8; got {}", detail::quoted_text(text)));
}

bool TrainingState::is_relaxed() const {
  const std::optional<Relaxation>& relaxation = options.relaxation;
  return relaxation && (relaxation->staleness > 0 || relaxation->backup_ranks > 0);
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

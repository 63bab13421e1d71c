// TrainingRun: the end of an epoch.
#include <chrono>
#include <cmath>
#include <limits>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "nn/train/training_run.h"

namespace dynet_like::nn {

void TrainingRun::finish_epoch(const std::function<double()>& dev_score) {
  finish([&] { return std::optional(dev_score()); });
}

void TrainingRun::finish_epoch(double dev_score) {
  if (trainer_.moving_average() != MovingAverage::None) {
    throw UsageError(
        "[TrainingRun] need a function for the dev score, to call it with the moving averages in "
        "place; got a number");
  }
  finish([&] { return std::optional(dev_score); });
}

void TrainingRun::finish_epoch() {
  finish([] { return std::optional<double>(); });
}

void TrainingRun::finish(const DevScore& dev_score) {
  if (phase_ == Phase::training && interrupted()) return;
  if (phase_ != Phase::trained && phase_ != Phase::finishing) {
    throw UsageError("[TrainingRun] need finish_epoch() after all minibatches; got it before");
  }
  phase_ = Phase::finishing;
  const auto start = std::chrono::steady_clock::now();
  Evaluation evaluation;
  TrainingProgress after;
  check_same_parameters();
  put_averages_in_place();
  try {
    evaluation = evaluate(dev_score);
    after = progress_after(evaluation);
    if (evaluation.is_best) keep_best(after);
  } catch (...) {
    put_weights_back();
    throw;
  }
  put_weights_back();
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  after.seconds += seconds.count();
  progress_ = std::move(after);
  is_saved_ = false;
  notes_.clear();
  phase_ = Phase::between;
  groups_.begin_epoch(progress_.epochs + 1);  // those that a checkpoint has follow from its epoch
  if (!checkpoint_.empty()) save();
  write_curve();
  add_events();
  print_line(evaluation);
}

void TrainingRun::put_averages_in_place() {
  put_weights_back();  // if that failed before
  const bool takes_averages = trainer_.moving_average() != MovingAverage::None;
  if (!takes_averages || trainer_.state().averages.empty()) return;
  trainer_.swap_params_to_moving_average(true, true);
  averages_in_place_ = true;
}

void TrainingRun::put_weights_back() {
  if (averages_in_place_) trainer_.swap_params_to_weights();
  averages_in_place_ = false;
}

TrainingRun::Evaluation TrainingRun::evaluate(const DevScore& dev_score) {
  Evaluation evaluation;
  evaluation.score = dev_score();
  check_same_score(evaluation.score);
  // Without any, as when all updates were skipped, there is no mean: a gap in the curve.
  evaluation.loss =
      progress_.losses > 0 ? progress_.mean_loss() : std::numeric_limits<double>::quiet_NaN();
  evaluation.is_best = is_better(evaluation.score);
  evaluation.skipped = progress_.skipped - progress_.skipped_before;
  return evaluation;
}

// NaN is never better.
bool TrainingRun::is_better(std::optional<double> score) const {
  if (!score) return true;
  if (std::isnan(*score)) return false;
  if (progress_.best_epoch == 0) return true;
  return options_.better == Better::larger ? *score > progress_.best_score
                                           : *score < progress_.best_score;
}

TrainingProgress TrainingRun::progress_after(const Evaluation& evaluation) const {
  TrainingProgress after = progress_;
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
  if (options_.plateau) {
    after.plateau = options_.plateau->after_epoch(after.plateau, evaluation.is_best);
  }
  std::map<std::string, double> row = notes_;
  row[kLossColumn] = evaluation.loss;
  if (evaluation.score) row[score_column()] = *evaluation.score;
  after.curve.add(row);
  return after;
}

void TrainingRun::add_events() {
  if (events_ == nullptr) return;
  const unsigned epoch = progress_.epochs;
  for (const std::string& column : curve().columns()) {
    const std::optional<double> value = curve().value(column, epoch);
    if (value) events_->add(column, epoch, static_cast<float>(*value));
  }
  events_->add("learning rate", epoch, trainer_.learning_rate);
}

void TrainingRun::print_line(const Evaluation& evaluation) const {
  if (options_.lines == nullptr || !is_writer()) return;
  std::string line = fmt::format(
      "epoch {}/{}: {}", progress_.epochs, options_.epochs,
      std::isnan(evaluation.loss) ? "no loss" : fmt::format("loss {:.4f}", evaluation.loss));
  if (evaluation.score) {
    line += fmt::format(", dev {} {}", options_.score_name, score_text(*evaluation.score));
  }
  line += fmt::format(", {:.0f} {}/s", units_per_second(), options_.unit);
  line += shares_of_time();
  if (evaluation.skipped > 0)
    line += fmt::format(", {} skipped", detail::counted(evaluation.skipped, "update"));
  if (evaluation.is_best) line += ", best so far";
  *options_.lines << line << std::endl;
  // Who prints for hours should not learn at the end that the disk is full.
  if (!*options_.lines) throw FileError("the stream of lines", "need to write it; got an error");
}

std::string TrainingRun::score_text(double score) const {
  return options_.score_text ? options_.score_text(score) : fmt::format("{:.2f} %", 100 * score);
}

std::string TrainingRun::summary() const {
  if (progress_.best_epoch == 0) return "no epoch is complete";
  const bool has_score = curve().columns().size() > 1;
  return fmt::format(
      "best: epoch {} of {}{}; trained for {:.0f} s", progress_.best_epoch, progress_.epochs,
      has_score ? fmt::format(", dev {} {}", options_.score_name, score_text(progress_.best_score))
                : "",
      progress_.seconds);
}

}  // namespace dynet_like::nn

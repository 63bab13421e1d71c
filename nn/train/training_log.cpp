// TrainingLog: writes files, and lines for people.
#include "nn/train/training_log.h"

#include <cmath>
#include <ostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"
#include "dynet_like/io/atomic_file.h"

namespace dynet_like::nn {

namespace {

constexpr const char *kLossColumn = "train loss", *kRateColumn = "learning rate";

}  // namespace

TrainingLog::TrainingLog(const TrainingState& run, const TrainingEpoch& epoch)
    : run_(run), epoch_(epoch) {
  if (run.options.resume) write_curve();  // a run that was killed may not have written it
  if (!run.options.events || !run.is_writer()) return;
  const auto file = std::filesystem::path(run.options.output) / "events.out.tfevents.0.run";
  std::error_code error;
  // If this fails, the next line reports why.
  if (!run.options.resume) std::filesystem::remove(file, error);
  events_.emplace(file);
}

void TrainingLog::tell_of_schedule() {
  const TrainingOptions& options = run_.options;
  if (std::exchange(has_told_, true) || !options.schedule) return;
  const std::uint64_t steps = options.schedule_by_epoch
                                  ? options.epochs
                                  : options.epochs * options.updates_of(epoch_.size());
  if (!rises_until(*options.schedule, steps)) return;
  print(
      fmt::format("The learning rate still rises when the run ends, after {}: it is then {} of {}",
                  options.schedule_by_epoch ? detail::counted(steps, "epoch")
                                            : detail::counted(steps, "update"),
                  options.schedule->rate(steps - 1), options.schedule->description()));
}

void TrainingLog::note(const std::string& column, double value) {
  check_utf8(column);
  if (column == "epoch" || column == kLossColumn || column == kRateColumn ||
      column == score_column()) {
    throw UsageError(
        fmt::format("[TrainingRun] need a name for a note that the learning curve does not use; "
                    "got \"{}\"",
                    column));
  }
  notes_[column] = value;
}

std::map<std::string, double> TrainingLog::row(const Evaluation& evaluation) const {
  std::map<std::string, double> row = notes_;
  row[kLossColumn] = evaluation.loss;
  // That of the last update: the trainer's may already be the next one, if an epoch ends again.
  const std::uint64_t updates = run_.progress.updates;
  row[kRateColumn] =
      static_cast<double>(run_.options.schedule ? run_.scheduled_rate(updates > 0 ? updates - 1 : 0)
                                                : run_.trainer.learning_rate);
  if (evaluation.score) row[score_column()] = *evaluation.score;
  return row;
}

void TrainingLog::write(const Evaluation& evaluation, const std::string& shares) {
  write_curve();
  if (events_) add_events();
  print_line(evaluation, shares);
}

void TrainingLog::write_curve() const {
  if (run_.options.output.empty() || !run_.is_writer()) return;
  const std::filesystem::path folder = run_.options.output;
  run_.progress.curve.write_csv(folder / "curve.csv");
  run_.progress.curve.write_svg(folder / "curve.svg");
}

void TrainingLog::add_events() {
  const LearningCurve& curve = run_.progress.curve;
  const unsigned epoch = run_.progress.epochs;
  for (const std::string& column : curve.columns()) {
    const std::optional<double> value = curve.value(column, epoch);
    if (value) events_->add(column, epoch, static_cast<float>(*value));
  }
}

void TrainingLog::print_line(const Evaluation& evaluation, const std::string& shares) const {
  const TrainingOptions& options = run_.options;
  std::string line = fmt::format(
      "epoch {}/{}: {}", run_.progress.epochs, options.epochs,
      std::isnan(evaluation.loss) ? "no loss" : fmt::format("loss {:.4f}", evaluation.loss));
  if (evaluation.score) {
    line += fmt::format(", dev {} {}", options.score_name, score_text(*evaluation.score));
  }
  line += fmt::format(", {:.0f} {}/s{}", epoch_.units_per_second(), options.unit, shares);
  if (evaluation.skipped > 0)
    line += fmt::format(", {} skipped", detail::counted(evaluation.skipped, "update"));
  if (evaluation.without_loss > 0) {
    line += fmt::format(", {} without a loss",
                        detail::counted(evaluation.without_loss, "minibatch", "minibatches"));
  }
  if (evaluation.is_best && evaluation.score) line += ", best so far";
  print(line);
}

void TrainingLog::print(const std::string& line) const {
  std::ostream* const lines = run_.options.lines;
  if (lines == nullptr || !run_.is_writer()) return;
  *lines << line << std::endl;
  // Reports a full disk now, and not after hours of training.
  if (!*lines) throw FileError("the stream of lines", "need to write it; got an error");
}

std::string TrainingLog::score_text(double score) const {
  return run_.options.score_text ? run_.options.score_text(score)
                                 : fmt::format("{:.2f} %", 100 * score);
}

void TrainingLog::write_report(const std::filesystem::path& path,
                               const std::map<std::string, double>& results) const {
  if (!run_.is_writer()) return;
  const TrainingProgress& progress = run_.progress;
  nlohmann::ordered_json report = {{"epochs", progress.epochs},
                                   {"updates", progress.updates},
                                   {"skipped_updates", progress.skipped},
                                   {"best_epoch", progress.best_epoch},
                                   {"best_" + run_.options.score_name, progress.best_score},
                                   {"seconds", progress.seconds},
                                   {run_.options.unit + "_per_second", epoch_.units_per_second()}};
  report["results"] = results;
  report["settings"] = run_.settings;
  constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
  detail::write_atomically(path, report.dump(2, ' ', false, kReplace) + '\n');
}

}  // namespace dynet_like::nn

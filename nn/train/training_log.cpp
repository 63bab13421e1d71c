// TrainingLog: writes files, and lines for people.
#include "nn/train/training_log.h"

#include <cmath>
#include <ostream>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/counted.h"
#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

constexpr const char *kLossColumn = "train loss", *kRateColumn = "learning rate";

}  // namespace

TrainingLog::TrainingLog(const TrainingOptions& options, const TrainingProgress& progress,
                         bool is_writer)
    : options_(options), is_writer_(is_writer) {
  if (!is_writer_) return;
  // A run that was killed may not have written all epochs.
  if (options.files.resume) write_curve(progress.curve);
  if (!options.files.events) return;
  const auto file = std::filesystem::path(options.files.folder) / "events.out.tfevents.0.run";
  std::error_code error;
  std::filesystem::remove(file, error);  // if this fails, the next line reports why
  events_.emplace(file);
  for (std::size_t epoch = 1; epoch <= progress.epochs; ++epoch) add_events(progress.curve, epoch);
}

void TrainingLog::tell_of_schedule(std::size_t minibatches) {
  const ScheduleOptions& schedule = options_.schedule;
  if (std::exchange(has_told_, true) || !schedule.rate) return;
  const std::uint64_t steps =
      schedule.by_epoch ? options_.epochs : options_.epochs * options_.updates_of(minibatches);
  if (!rises_until(*schedule.rate, steps)) return;
  print(
      fmt::format("The learning rate still rises when the run ends, after {}: it is then {} of {}",
                  detail::counted(steps, schedule.by_epoch ? "epoch" : "update"),
                  schedule.rate->rate(steps - 1), schedule.rate->description()));
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

std::map<std::string, double> TrainingLog::row(const Evaluation& evaluation,
                                               float learning_rate) const {
  std::map<std::string, double> row = notes_;
  row[kLossColumn] = evaluation.loss;
  row[kRateColumn] = static_cast<double>(learning_rate);
  if (evaluation.score) row[score_column()] = *evaluation.score;
  return row;
}

void TrainingLog::write(const TrainingProgress& progress, const Evaluation& evaluation,
                        const std::string& speed) {
  if (!is_writer_) return;
  write_curve(progress.curve);
  if (events_) add_events(progress.curve, progress.epochs);
  std::string line = fmt::format(
      "epoch {}/{}: {}", progress.epochs, options_.epochs,
      std::isnan(evaluation.loss) ? "no loss" : fmt::format("loss {:.4f}", evaluation.loss));
  const ReportOptions& report = options_.report;
  if (evaluation.score) {
    const std::string score = report.score_text ? report.score_text(*evaluation.score)
                                                : fmt::format("{:.2f} %", 100 * *evaluation.score);
    line += fmt::format(", dev {} {}", report.score_name, score);
  }
  line += ", " + speed;
  if (evaluation.skipped > 0)
    line += fmt::format(", {} skipped", detail::counted(evaluation.skipped, "update"));
  if (evaluation.without_loss > 0) {
    line += fmt::format(", {} without a loss",
                        detail::counted(evaluation.without_loss, "minibatch", "minibatches"));
  }
  if (evaluation.is_best && evaluation.score) line += ", best so far";
  print(line);
}

void TrainingLog::write_curve(const LearningCurve& curve) const {
  if (options_.files.folder.empty()) return;
  const std::filesystem::path folder = options_.files.folder;
  curve.write_csv(folder / "curve.csv");
  curve.write_svg(folder / "curve.svg");
}

void TrainingLog::add_events(const LearningCurve& curve, std::size_t epoch) {
  for (const std::string& column : curve.columns()) {
    const std::optional<double> value = curve.value(column, epoch);
    if (value) events_->add(column, epoch, static_cast<float>(*value));
  }
}

void TrainingLog::print(const std::string& line) const {
  std::ostream* const lines = options_.report.lines;
  if (lines == nullptr || !is_writer_) return;
  *lines << line << std::endl;
  // Reports a full disk now, and not after hours of training.
  if (!*lines) throw FileError("the stream of lines", "need to write it; got an error");
}

}  // namespace dynet_like::nn

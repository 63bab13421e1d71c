// TrainingLog: prints a line per epoch, and writes the learning curve, events and a report.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "nn/train/evaluation.h"
#include "nn/train/event_file.h"
#include "nn/train/training_options.h"
#include "nn/train/training_progress.h"

namespace dynet_like::nn {

/// Only the log of the writer (rank 0) writes anything.
class TrainingLog {
 public:
  /// Writes the files of the curve anew, if a run resumes. Throws FileError. The options must
  /// outlive it.
  TrainingLog(const TrainingOptions& options, const TrainingProgress& progress, bool is_writer);

  /// Once, when the loop over so many minibatches begins: says so if the rate of the schedule still
  /// rises when the run ends.
  void tell_of_schedule(std::size_t minibatches);
  /// Adds a number to the row of this epoch.
  void note(const std::string& column, double value);
  /// `learning_rate`: that of the last update.
  std::map<std::string, double> row(const Evaluation& evaluation, float learning_rate) const;
  /// Logs the epoch that was completed last, whose row the curve has. `speed`: the units per
  /// second, and shares of the time, for its line.
  void write(const TrainingProgress& progress, const Evaluation& evaluation,
             const std::string& speed);
  void forget_notes() { notes_.clear(); }

 private:
  std::string score_column() const { return "dev " + options_.report.score_name; }
  void write_curve(const LearningCurve& curve) const;
  void add_events(const LearningCurve& curve, std::size_t epoch);
  void print(const std::string& line) const;

  const TrainingOptions& options_;
  bool is_writer_;
  std::optional<EventFile> events_;
  std::map<std::string, double> notes_;
  bool has_told_ = false;
};

}  // namespace dynet_like::nn

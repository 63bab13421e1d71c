// TrainingLog: prints a line per epoch, and writes the learning curve, events and a report.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "nn/train/event_file.h"
#include "nn/train/training_epoch.h"
#include "nn/train/training_state.h"

namespace dynet_like::nn {

/// Only the log of the writer (rank 0) writes anything.
class TrainingLog {
 public:
  /// Throws FileError.
  TrainingLog(const TrainingState& run, const TrainingEpoch& epoch);

  /// Once, when the loop over the minibatches begins: says so if the rate of the schedule still
  /// rises when the run ends.
  void tell_of_schedule();
  /// Adds a number to the row of this epoch.
  void note(const std::string& column, double value);
  std::map<std::string, double> row(const Evaluation& evaluation) const;
  /// Call this when the curve has the row.
  void forget_notes() { notes_.clear(); }
  /// Logs the epoch that was completed last. `shares`: shares of the time, for its line.
  void write(const Evaluation& evaluation, const std::string& shares);

  void write_report(const std::filesystem::path& path,
                    const std::map<std::string, double>& results) const;

 private:
  std::string score_column() const { return "dev " + run_.options.score_name; }
  std::string score_text(double score) const;
  void write_curve() const;
  void add_events();
  void print(const std::string& line) const;
  void print_line(const Evaluation& evaluation, const std::string& shares) const;

  const TrainingState& run_;
  const TrainingEpoch& epoch_;
  std::optional<EventFile> events_;
  std::map<std::string, double> notes_;
  bool has_told_ = false;
};

}  // namespace dynet_like::nn

// Learning curves: the measurements of every epoch, as a table and as a picture.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dynet_like::nn {

/// A table with a row per epoch and named columns, such as "train loss" and "dev accuracy". Names
/// may be any text; a value that is missing or not finite leaves a gap.
class LearningCurve {
 public:
  /// Adds the next epoch. New columns have gaps before it. Throws UsageError for the reserved
  /// column "epoch".
  void add(const std::map<std::string, double>& values);

  std::size_t epochs() const { return epochs_; }
  /// In the order of their first epoch, and then by name.
  const std::vector<std::string>& columns() const { return names_; }
  /// The value after an epoch, from 1. Throws UsageError if there is no such epoch or column.
  std::optional<double> value(const std::string& column, std::size_t epoch) const;

  /// Comma-separated values as in RFC 4180, with a header. from_csv restores the exact numbers.
  std::string to_csv() const;
  /// Reads such a text; `file` is its file's name for messages. Throws FileError with the line.
  static LearningCurve from_csv(std::string_view text, const std::string& file);

  /// An SVG picture with a line per column over the epochs. Columns with "loss" in their name use
  /// the left scale, all others the right one, but the column "learning rate" one from 0 to its
  /// largest value, which the legend has.
  std::string to_svg(const std::string& title = "") const;

  /// Writes either as a file, atomically (see AtomicFile). Throws FileError.
  void write_csv(const std::filesystem::path& path) const;
  void write_svg(const std::filesystem::path& path, const std::string& title = "") const;

 private:
  std::size_t column(const std::string& name) const;

  std::size_t epochs_ = 0;
  std::vector<std::string> names_;
  std::vector<std::vector<std::optional<double>>> values_;  // by column and epoch
};

}  // namespace dynet_like::nn

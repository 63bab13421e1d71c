// Common parts of the examples' programs: exit statuses, messages, reports.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "examples/full/support/lines.h"
#include "examples/full/support/measure.h"
#include "examples/full/support/options.h"
#include "nn/data/splits.h"

namespace dynet_like::examples {

/// Runs an example and returns its exit status. An exception is printed as a line "NAME: message"
/// on standard error, if possible, and gives status 1, or 2 for a UsageError. Output that could not
/// be written and input that could not be read have the same effect.
int run_program(const std::string& name, const std::function<int()>& run);
/// The same for a program that trains, or applies a model with --apply. Answers --help, and checks
/// that the file of --report can be written.
int run_program(const Program& program, int argc, char** argv,
                const std::function<int(Options&)>& train,
                const std::function<int(Options&)>& apply);

/// Prints the numbers of samples for training, dev and test, which may be 0, and the size of the
/// model.
void begin_training(const Options& options, const ParameterCollection& model,
                    const std::array<std::size_t, 3>& counts);
template <class Sample>
void begin_training(const Options& options, const ParameterCollection& model,
                    const nn::Splits<Sample>& data) {
  begin_training(options, model, {data.train.size(), data.dev.size(), data.test.size()});
}

/// The samples of --train and --dev and, if given, of --test; nothing without --train. Throws
/// UsageError if only some of these are given, and what `read(file)` throws.
template <class Sample, class Read>
std::optional<nn::Splits<Sample>> read_splits(const Options& options, const Read& read) {
  options.need_all_or_none({"train", "dev"});
  if (options.has("test")) options.need_all_or_none({"train", "dev", "test"});
  if (!options.has("train")) return std::nullopt;
  nn::Splits<Sample> data = {read(options.text("train")), read(options.text("dev")), {}};
  if (options.has("test")) data.test = read(options.text("test"));
  return data;
}

/// Makes the trainer average parameters over about the last epoch of so many samples. Averages are
/// better than the last values, and depend less on chance.
void average_last_epoch(Trainer& trainer, const nn::TrainingOptions& training, std::size_t samples);

/// Prints how to resume after Ctrl-C, and returns the exit status for programs that it ended.
int stopped();

/// Prints the accuracy of the best model on the test data, and adds it to the report.
void report_test(nlohmann::json& report, double accuracy);

/// Prints the best epoch with its score, and writes --report, if given: these results, and the
/// run's epochs and seconds. Returns exit status 0. Throws FileError.
int finish(const Options& options, const nn::TrainingOptions& training,
           const nn::TrainingProgress& progress, nlohmann::json report);

/// Throws FileError unless all output so far has been written, so that a long run does not end
/// before it notices that the disk is full.
void flush_output();
/// Throws this FileError, with the system's reason.
[[noreturn]] void fail_output();

}  // namespace dynet_like::examples

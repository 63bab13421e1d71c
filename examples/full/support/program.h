// What the examples' programs do alike from beginning to end: exit statuses, messages, reports.
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

/// Runs an example and returns its exit status. An exception becomes a line "NAME: what" on
/// standard error, if it can be written, and status 1, or 2 for a UsageError; so does output that
/// could not be written and input that could not be read.
int run_program(const std::string& name, const std::function<int()>& run);
/// The same of one that trains, or applies a model with --apply. --help is answered here, and
/// --report tried.
int run_program(const Program& program, int argc, char** argv,
                const std::function<int(Options&)>& train,
                const std::function<int(Options&)>& apply);

/// Prints what there is for training, dev and test, which may be nothing, and the size of the
/// model.
void begin_training(const Options& options, const ParameterCollection& model,
                    const std::array<std::size_t, 3>& counts);
template <class Sample>
void begin_training(const Options& options, const ParameterCollection& model,
                    const nn::Splits<Sample>& data) {
  begin_training(options, model, {data.train.size(), data.dev.size(), data.test.size()});
}

/// The samples of --train and --dev and, if it is given, of --test; nothing without --train. Throws
/// UsageError for some of these alone, and what `read(file)` throws.
template <class Sample, class Read>
std::optional<nn::Splits<Sample>> read_splits(const Options& options, const Read& read) {
  options.need_all_or_none({"train", "dev"});
  if (options.has("test")) options.need_all_or_none({"train", "dev", "test"});
  if (!options.has("train")) return std::nullopt;
  nn::Splits<Sample> data = {read(options.text("train")), read(options.text("dev")), {}};
  if (options.has("test")) data.test = read(options.text("test"));
  return data;
}

/// Says how to go on after Ctrl-C, and returns the exit status of programs that it ended.
int stopped(const Options& options);

/// Prints the accuracy of the best model on what it is tested on, and adds it to the report.
void report_test(nlohmann::json& report, double accuracy);

/// Prints the run's summary, and writes --report if there is one: these results, and the run's
/// epochs and seconds. Returns exit status 0. Throws FileError.
int finish(const Options& options, const nn::TrainingRun& run, nlohmann::json report);

/// Throws FileError unless all that was printed so far has been written: who prints for hours
/// should not learn at the end that the disk is full.
void flush_output();
/// Throws the FileError, with the system's reason.
[[noreturn]] void fail_output();

}  // namespace dynet_like::examples

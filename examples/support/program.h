// What the examples' programs do alike from beginning to end: exit statuses, messages, reports.
#pragma once

#include <array>
#include <functional>
#include <string>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "examples/support/data_files.h"
#include "examples/support/lines.h"
#include "examples/support/measure.h"
#include "examples/support/options.h"
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

/// Says how to go on after Ctrl-C, and returns the exit status of programs that it ended.
int stopped(const Options& options);

/// Prints the run's summary, and writes --report if there is one: these results, and the run's
/// epochs and seconds. Returns exit status 0. Throws FileError.
int finish(const Options& options, const nn::TrainingRun& run, nlohmann::json report);

/// Throws FileError unless all that was printed so far has been written: who prints for hours
/// should not learn at the end that the disk is full.
void flush_output();
/// Throws the FileError, with the system's reason.
[[noreturn]] void fail_output();

}  // namespace dynet_like::examples

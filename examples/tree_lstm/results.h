// What the Tree-LSTM example tells at the end: to people, and as JSON to programs.
#pragma once

#include <vector>

#include "examples/support/measure.h"
#include "examples/support/training.h"
#include "examples/tree_lstm/evaluation.h"
#include "examples/tree_lstm/options.h"
#include "examples/tree_lstm/task.h"

namespace dynet_like::examples {

/// Prints the accuracy on the test trees.
void print_test(const Options& options, const Task& task,
                const std::vector<Prediction>& predictions);

/// Writes the report, if one was asked for.
void write_results(const Options& options, const Task& task, const Progress& progress,
                   const std::vector<Prediction>& predictions, const BatchingGain& gain);

}  // namespace dynet_like::examples

// What the tagger example tells at the end: to people, and as JSON to programs.
#pragma once

#include "examples/support/measure.h"
#include "examples/support/training.h"
#include "examples/tagger/options.h"
#include "examples/tagger/scores.h"
#include "examples/tagger/task.h"

namespace dynet_like::examples {

/// The number that the task's score_name names.
double main_score(const TaggerTask& task, const LabelScore& score);

/// Prints the best epoch, the score on the test sentences and what batching gains.
void print_results(const TaggerTask& task, const Training& training, const LabelScore& score,
                   const BatchingGain& gain);

/// Writes the report, if one was asked for.
void write_results(const TaggerOptions& options, const TaggerTask& task, const Training& training,
                   const LabelScore& score, const BatchingGain& gain);

}  // namespace dynet_like::examples

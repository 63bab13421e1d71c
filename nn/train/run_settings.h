// What the bits of a training run depend on: one list, for checkpoints and for ranks.
#pragma once

#include <string>

#include "dynet_like/exec/options.h"
#include "dynet_like/io/model_file.h"
#include "nn/train/training_state.h"

namespace dynet_like::nn {

// All are texts by name. A run that resumes, and all ranks of a run, must have the same ones. What
// is not in the lists follows from them, is part of the state in a checkpoint, or is the program's
// to add: see TrainingOptions::settings.

/// Everything that the program chooses. The best model's file has these, too.
Metadata settings_of(const TrainingState& run);
/// What the program runs on, and the parameters. They are not part of a model.
Metadata conditions_of(const ParameterCollection& model);
/// Those conditions that decide only on last bits: see TrainingOptions::other_bits.
bool is_about_last_bits(const std::string& name);

/// The options of graphs on which bits depend, as the text of one setting. `threads` must not be 0.
std::string graph_settings(const GraphOptions& graph, const TrainingState& run);
/// The same of the run's own options.
std::string graph_settings(const TrainingState& run);

/// What ranks must have in common besides, so that they do the same. A run may resume with others.
Metadata conduct_of(const TrainingState& run);

/// Throws UsageError unless the settings and conditions of the checkpoint are those of the run; and
/// FileError.
void check_settings(const SafetensorsFile& checkpoint, const TrainingState& run);
/// Adds the settings and conditions to the metadata of a checkpoint.
void add_settings(const TrainingState& run, Metadata& metadata);

}  // namespace dynet_like::nn

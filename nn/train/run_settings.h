// What the bits of a training run depend on: one list, for checkpoints and for ranks.
#pragma once

#include <cstdint>
#include <string>

#include "dynet_like/io/model_file.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/train/trainer.h"
#include "nn/train/training_options.h"

namespace dynet_like::nn {

// All are texts by name. A run that resumes, and all ranks of a run, must have the same ones. What
// is not in the lists follows from them, is part of the state in a checkpoint, or is the program's
// to add: see FileOptions::settings.
struct RunSettings {
  /// Everything that the program chooses. The best model's file has these, too.
  Metadata chosen;
  /// What the program runs on, and the parameters. They are not part of a model.
  Metadata conditions;

  /// `groups`: the groups of parameters by epoch. `loop`: further settings, of the loop.
  RunSettings(const TrainingOptions& options, const Trainer& trainer, const std::string& groups,
              const Metadata& loop);

  Metadata all() const;
  /// Adds all, and a list of their names, to the metadata of a checkpoint.
  void add_to(Metadata& metadata) const;
  /// Throws UsageError unless the checkpoint has the same settings and conditions; and FileError.
  /// `other_bits`: conditions on which only last bits depend may differ.
  void check(const SafetensorsFile& checkpoint, bool other_bits) const;
};

/// The options of graphs on which bits depend, as the text of one setting. Of the run's own
/// options, and of other ones whose number of threads is not 0.
std::string graph_settings(const TrainingOptions& options);
std::string graph_settings(const GraphOptions& graph, const RankOptions& ranks);

/// What ranks must have in common besides, so that they do the same. A run may resume with others.
Metadata conduct_of(const TrainingOptions& options, std::uint64_t updates);

}  // namespace dynet_like::nn

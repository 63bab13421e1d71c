// A small model with its trainer and the options of a run, for tests of what runs compare.
#pragma once

#include "nn/train.h"
#include "tests/support/precompiled.h"

namespace dynet_like::nn {

inline std::filesystem::path settings_folder() {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "training_settings";
  std::filesystem::remove_all(folder);
  return folder;
}

/// What a run is made of.
struct Training {
  ParameterCollection model, part = model.add_subcollection("part");
  Parameter w, v;
  LookupParameter table;
  std::unique_ptr<Trainer> trainer;
  TrainingOptions options;

  explicit Training(const std::filesystem::path& folder = {}, bool resume = false,
                    bool v_first = false) {
    if (v_first) v = part.add_parameters({2}, ParameterInitConst(1), "v");
    w = part.add_parameters({2}, ParameterInitConst(1), "w");
    if (!v_first) v = part.add_parameters({2}, ParameterInitConst(1), "v");
    table = part.add_lookup_parameters(6, {2}, ParameterInitConst(1), "table");
    use<AdamTrainer>(0.5f);
    options.epochs = 3;
    options.batch_size = 2;
    options.ranks.shards = 2;
    options.files.folder = folder;
    options.files.resume = resume;
    options.files.settings = {{"size", "3"}};
    options.report.lines = nullptr;
    options.stopping.watch_interrupts = false;
  }
  Training(const std::shared_ptr<Communicator>& ranks, bool is_relaxed) : Training() {
    options.ranks.communicator = ranks;
    if (is_relaxed) options.ranks.relaxation = Relaxation{};
  }

  template <class TrainerType, class... Arguments>
  void use(Arguments... arguments) {
    trainer = std::make_unique<TrainerType>(model, arguments...);
  }
  /// Makes a run, and lets it save if there is a folder.
  void begin() {
    TrainingRun run(*trainer, options);
    if (!options.files.folder.empty()) run.save();
  }
};

}  // namespace dynet_like::nn

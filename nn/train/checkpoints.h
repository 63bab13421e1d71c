// Checkpoints: the checkpoint and the best model of a training run.
#pragma once

#include <filesystem>
#include <optional>

#include "dynet_like/io/folder_lock.h"
#include "dynet_like/io/safetensors.h"
#include "nn/train/best_model.h"
#include "nn/train/training_state.h"

namespace dynet_like::nn {

/// The checkpoint and the best model in the run's folder. Without a folder, the best model is kept
/// in memory.
class Checkpoints {
 public:
  /// Locks the folder, and loads its checkpoint if the options ask for it. Throws UsageError if the
  /// checkpoint has other settings, and FileError.
  explicit Checkpoints(TrainingState& run);

  bool has_folder() const { return !file_.empty(); }
  /// The checkpoint's path; empty without a folder.
  const std::filesystem::path& file() const { return file_; }
  /// Saves a checkpoint. `seconds` are added to the time in the progress. Throws UsageError without
  /// a folder.
  void save(double seconds);
  /// Keeps the model as the best one, with this progress.
  void keep_best(const TrainingProgress& progress);
  /// Throws FileError if the file has the model of another run. Only the writer reads a file.
  void load_best() const;

 private:
  std::filesystem::path path_of(const char* name) const;
  void resume();
  Metadata best_metadata(const TrainingProgress& progress) const;
  SafetensorsFile read_best(const TrainingProgress& progress) const;

  TrainingState& run_;
  std::optional<detail::FolderLock> lock_;
  std::filesystem::path file_;
  BestModel best_;
};

}  // namespace dynet_like::nn

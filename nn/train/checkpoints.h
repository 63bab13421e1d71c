// Checkpoints: the checkpoint and the best model of a training run.
#pragma once

#include <filesystem>
#include <optional>

#include "dynet_like/io/folder_lock.h"
#include "dynet_like/io/safetensors.h"
#include "dynet_like/train/trainer.h"
#include "nn/train/best_model.h"
#include "nn/train/run_settings.h"
#include "nn/train/training_options.h"
#include "nn/train/training_progress.h"

namespace dynet_like::nn {

/// The checkpoint and the best model in the run's folder. Without a folder, the best model is kept
/// in memory.
class Checkpoints {
 public:
  /// Locks the folder, and makes it unless the run resumes. Only the writer does. All must outlive
  /// it. Throws FileError.
  Checkpoints(const TrainingOptions& options, const RunSettings& settings, Trainer& trainer,
              bool is_writer);

  bool has_folder() const { return !file_.empty(); }
  /// The checkpoint's path; empty without a folder.
  const std::filesystem::path& file() const { return file_; }
  /// Reads the progress. Throws UsageError if the checkpoint has other settings, and FileError.
  TrainingProgress read() const;
  /// Loads the parameters and the trainer, which has the groups of the next epoch.
  void load() const;
  /// Saves a checkpoint. Throws UsageError without a folder.
  void save(const TrainingProgress& progress) const;
  /// Keeps the model as the best one, with this progress.
  void keep_best(const TrainingProgress& progress);
  /// Throws FileError if the file has the model of another run. Only the writer reads a file.
  void load_best(const TrainingProgress& progress) const;

 private:
  std::filesystem::path path_of(const char* name) const;
  Metadata best_metadata(const TrainingProgress& progress) const;
  SafetensorsFile read_best(const TrainingProgress& progress) const;

  const TrainingOptions& options_;
  const RunSettings& settings_;
  Trainer& trainer_;
  bool is_writer_;
  std::optional<detail::FolderLock> lock_;
  std::filesystem::path file_;
  BestModel best_;
};

}  // namespace dynet_like::nn

// What a training run goes on from, and what it ends with: the files of its folder.
#pragma once

#include <filesystem>
#include <optional>

#include "dynet_like/io/folder_lock.h"
#include "dynet_like/io/safetensors.h"
#include "nn/train/best_model.h"
#include "nn/train/training_state.h"

namespace dynet_like::nn {

/// The checkpoint and the best model, which is in memory where there is no folder.
class Checkpoints {
 public:
  /// Takes the folder, and loads its checkpoint if the options say so. Throws UsageError if that is
  /// of other settings, and FileError.
  explicit Checkpoints(TrainingState& run);

  bool has_folder() const { return !file_.empty(); }
  /// The checkpoint; empty without a folder.
  const std::filesystem::path& file() const { return file_; }
  /// `seconds`: those that the progress lacks. Throws UsageError without a folder.
  void save(double seconds);
  /// As of this progress.
  void keep_best(const TrainingProgress& progress);
  /// Throws FileError if another run's is in its place. Only the writer reads a file.
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

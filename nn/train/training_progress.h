// TrainingProgress: how far a training run is. A checkpoint has all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "dynet_like/io/model_file.h"
#include "nn/train/learning_curve.h"
#include "nn/train/schedules.h"

namespace dynet_like::nn {

struct TrainingProgress {
  unsigned epochs = 0;               ///< completed
  std::size_t minibatches = 0;       ///< completed in the present epoch
  std::uint64_t order = 0;           ///< fingerprint of that epoch's minibatches and sizes; 0: any
  double loss = 0;                   ///< the sum of the losses in this epoch
  std::size_t losses = 0;            ///< the number of losses in this epoch
  std::uint64_t updates = 0;         ///< since the start
  std::uint64_t skipped = 0;         ///< updates that were skipped: not finite
  std::uint64_t skipped_before = 0;  ///< those skipped before this epoch
  std::uint64_t without_loss = 0;    ///< minibatches in which no sample had a loss, since the start
  std::uint64_t without_loss_before = 0;  ///< those before this epoch
  unsigned best_epoch = 0;                ///< from 1; 0: none yet
  double best_score = 0;                  ///< on the dev samples
  double seconds = 0;
  Plateau::State plateau;
  LearningCurve curve;
  /// In the result of train(): whether the run was asked to stop early. Not saved in checkpoints.
  bool interrupted = false;

  double mean_loss() const { return losses == 0 ? 0 : loss / static_cast<double>(losses); }

  void add_to(Metadata& metadata) const;
  /// Reads progress from metadata; `file` is the file's name for messages. Throws FileError.
  static TrainingProgress from(const Metadata& metadata, const std::string& file);
};

/// Reads a number from metadata. Throws FileError unless the entry exists and is in the type's
/// range; a double may be infinite or NaN.
template <class Number>
Number number_in(const Metadata& metadata, const std::string& key, const std::string& file);

}  // namespace dynet_like::nn

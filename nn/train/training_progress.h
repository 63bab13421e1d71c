// How far a training run is, as texts for its checkpoint.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "dynet_like/io/model_file.h"
#include "nn/data/minibatches.h"
#include "nn/train/learning_curve.h"
#include "nn/train/schedules.h"

namespace dynet_like::nn {

struct TrainingProgress {
  unsigned epochs = 0;               ///< that are complete
  std::size_t minibatches = 0;       ///< that are complete in the epoch after them
  std::uint64_t order = 0;           ///< of the minibatches of that epoch, as a fingerprint; 0: any
  double loss = 0;                   ///< the sum of the losses in this epoch,
  std::size_t losses = 0;            ///< and their number
  std::uint64_t updates = 0;         ///< since the start,
  std::uint64_t skipped = 0;         ///< and those that were left out, their gradients not finite,
  std::uint64_t skipped_before = 0;  ///< and those before this epoch
  unsigned best_epoch = 0;           ///< from 1; 0: none yet
  double best_score = 0;             ///< on the dev samples
  double seconds = 0;
  Plateau::State plateau;
  LearningCurve curve;
  /// Of what train() returns: it was asked to end before the last epoch. No checkpoint has it.
  bool interrupted = false;

  double mean_loss() const { return losses == 0 ? 0 : loss / static_cast<double>(losses); }

  void add_to(Metadata& metadata) const;
  /// The way back; `file` is where it is from. Throws FileError.
  static TrainingProgress from(const Metadata& metadata, const std::string& file);
};

/// Tells lists of minibatches apart; never 0.
std::uint64_t fingerprint(const Minibatches& minibatches);

/// Numbers in metadata. Throw FileError unless there is one in the range of its type; a double may
/// be infinite or NaN.
template <class Number>
Number number_in(const Metadata& metadata, const std::string& key, const std::string& file);

}  // namespace dynet_like::nn

// TrainingEpoch: the minibatches of an epoch in order, where this rank is in them, and its speed.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/core/random.h"
#include "nn/data/minibatches.h"
#include "nn/train/progress_bar.h"
#include "nn/train/training_options.h"
#include "nn/train/training_progress.h"

namespace dynet_like::nn {

/// A hash of a list of minibatches and of the sizes of samples; never 0.
std::uint64_t fingerprint(const Minibatches& minibatches, std::span<const std::uint32_t> sizes);

class TrainingEpoch {
 public:
  /// Random numbers for the order of the samples of an epoch, which follows so many.
  static Random order_random(std::uint64_t seed, unsigned epochs);

  /// Begins a loop over the minibatches that are not completed. Throws UsageError if there are
  /// none, or if the epoch began with another list or other costs.
  void begin(Minibatches list, std::span<const std::uint32_t> costs, const TrainingOptions& options,
             bool shows_bar, TrainingProgress& progress);
  bool has_loop() const { return bar_.has_value(); }
  /// Adds the loop's seconds to the progress.
  void end(TrainingProgress& progress);

  /// Restarts random() from the position, independent of earlier draws.
  void move_to(std::size_t position);
  void begin_minibatch(std::size_t position);
  void end_minibatch() { in_minibatch_ = false; }
  /// Shows minibatches `first` to `end` - 1 as done in the progress bar.
  void show(std::size_t first, std::size_t end, double mean_loss);

  /// From 1.
  unsigned number() const { return epochs_ + 1; }
  std::size_t position() const { return position_; }
  std::size_t size() const { return minibatches_.size(); }
  bool is_last() const { return position_ + 1 == size(); }
  /// The samples of the minibatch at this position.
  const std::vector<std::uint32_t>& samples() const { return minibatches_[position_]; }
  /// The costs of all samples, by their numbers; empty: all cost the same.
  std::span<const std::uint32_t> costs() const { return costs_; }
  /// The seeds of these samples in this epoch.
  std::vector<std::uint64_t> sample_seeds(const std::vector<std::uint32_t>& samples) const;
  Random& random() { return random_; }
  const Random& random() const { return random_; }
  bool in_minibatch() const { return in_minibatch_; }
  /// "minibatch 3 of epoch 2"
  std::string name_of_minibatch() const;

  double seconds_of_minibatch() const;
  /// The seconds of this loop, or of the last one.
  double seconds() const { return bar_ ? bar_->seconds() : seconds_; }
  /// Over all loops of the run.
  double units_per_second() const { return all_seconds_ > 0 ? all_units_ / all_seconds_ : 0; }

 private:
  std::size_t units(std::size_t first, std::size_t end) const;

  std::uint64_t seed_ = 0;
  double units_per_sample_ = 1;
  unsigned epochs_ = 0;  ///< completed before
  Minibatches minibatches_;
  std::vector<std::uint32_t> costs_;
  std::size_t position_ = 0;
  bool in_minibatch_ = false;
  Random random_;
  std::chrono::steady_clock::time_point minibatch_start_;
  std::optional<ProgressBar> bar_;  ///< of the current loop
  double seconds_ = 0, all_units_ = 0, all_seconds_ = 0;
};

/// What changes while a run trains: the run owns it, and passes it to those that change it.
struct TrainingState {
  TrainingProgress progress = {};
  TrainingEpoch epoch = {};
};

}  // namespace dynet_like::nn

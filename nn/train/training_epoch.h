// TrainingEpoch: the minibatches of an epoch in order, and the run's position in them.
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
#include "nn/train/training_state.h"

namespace dynet_like::nn {

class TrainingEpoch {
 public:
  explicit TrainingEpoch(TrainingState& run) : run_(run), random_(run.options.seed) {}

  /// Random numbers for the order of samples; the same for the same epoch.
  Random order_random() const;

  /// Begins a loop over the remaining minibatches of the list. Throws UsageError if there are none,
  /// or if the epoch began with another list or other costs.
  void begin(Minibatches list, std::span<const std::uint32_t> costs);
  bool has_loop() const { return bar_.has_value(); }
  void end();

  /// The seeds of these samples in this epoch.
  std::vector<std::uint64_t> sample_seeds(const std::vector<std::uint32_t>& samples) const;

  /// Restarts random() from the position, independent of earlier draws.
  void move_to(std::size_t position);
  void begin_minibatch(std::size_t position);
  void end_minibatch();
  /// Ends a minibatch that has begun, and moves to the next one.
  void pass();
  /// Shows minibatches `first` to `end` - 1 as done in the progress bar.
  void show(std::size_t first, std::size_t end);

  std::size_t position() const { return position_; }
  std::size_t size() const { return minibatches_.size(); }
  /// The samples of the minibatch at this position.
  const std::vector<std::uint32_t>& samples() const { return minibatches_[position_]; }
  /// The costs of all samples, by their numbers; empty: all cost the same.
  std::span<const std::uint32_t> costs() const { return costs_; }
  Random& random() { return random_; }
  const Random& random() const { return random_; }
  bool in_minibatch() const { return in_minibatch_; }
  /// "minibatch 3 of epoch 2"
  std::string name_of_minibatch() const;
  void check_in_minibatch() const;

  double seconds_of_minibatch() const;
  /// The seconds of this loop, or of the last one.
  double seconds() const { return bar_ ? bar_->seconds() : seconds_; }
  /// Over all loops of the run.
  double units_per_second() const;

 private:
  std::size_t units(std::size_t samples) const;

  TrainingState& run_;
  Minibatches minibatches_;
  std::vector<std::uint32_t> costs_;
  std::size_t position_ = 0;
  bool in_minibatch_ = false;
  Random random_;
  std::chrono::steady_clock::time_point minibatch_start_;
  std::optional<ProgressBar> bar_;  // of the current loop
  double seconds_ = 0, all_units_ = 0, all_seconds_ = 0;
};

}  // namespace dynet_like::nn

// The minibatches of an epoch, in their order, and where a training run is in them.
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

  /// For the order of the samples: the same numbers for the same epoch.
  Random order_random() const;

  /// Begins a loop over those of these minibatches that are left. Throws UsageError if they are not
  /// those that the epoch began with.
  void begin(Minibatches list, std::span<const std::uint32_t> costs);
  bool has_loop() const { return bar_.has_value(); }
  void end();

  /// Of the random numbers of each of these samples, in this epoch.
  std::vector<std::uint64_t> sample_seeds(const std::vector<std::uint32_t>& samples) const;

  /// Numbers of random() then follow from the position alone, whatever was drawn before.
  void move_to(std::size_t position);
  void begin_minibatch(std::size_t position);
  void end_minibatch();
  /// A minibatch that has begun is done: goes on to the next one.
  void pass();
  /// Shows people that minibatches from `first` to `end` - 1 are done.
  void show(std::size_t first, std::size_t end);

  std::size_t position() const { return position_; }
  std::size_t size() const { return minibatches_.size(); }
  /// Of the minibatch at this position.
  const std::vector<std::uint32_t>& samples() const { return minibatches_[position_]; }
  /// Of all samples, by their numbers; none: all cost the same.
  std::span<const std::uint32_t> costs() const { return costs_; }
  std::uint64_t costs_digest() const { return costs_digest_; }
  Random& random() { return random_; }
  const Random& random() const { return random_; }
  bool in_minibatch() const { return in_minibatch_; }
  /// "minibatch 3 of epoch 2"
  std::string name_of_minibatch() const;
  void check_in_minibatch() const;

  double seconds_of_minibatch() const;
  /// Of this loop, or of the last one.
  double seconds() const { return bar_ ? bar_->seconds() : seconds_; }
  /// Over all loops of the run.
  double units_per_second() const;

 private:
  std::size_t units(std::size_t samples) const;

  TrainingState& run_;
  Minibatches minibatches_;
  std::vector<std::uint32_t> costs_;
  std::uint64_t costs_digest_ = 0;
  std::size_t position_ = 0;
  bool in_minibatch_ = false;
  Random random_;
  std::chrono::steady_clock::time_point minibatch_start_;
  std::optional<ProgressBar> bar_;  // of the loop
  double seconds_ = 0, all_units_ = 0, all_seconds_ = 0;
};

}  // namespace dynet_like::nn

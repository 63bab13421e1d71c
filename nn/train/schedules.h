// Schedules: the learning rate as a function of the number of updates.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>

#include "dynet_like/train/cyclical_rate.h"

namespace dynet_like::nn {

// Each schedule has three functions. rate(step) is the learning rate after `step` updates, from 0.
// description() contains all constants, so that a checkpoint can tell schedules apart. check()
// throws UsageError unless rates are finite and not negative, and lengths positive.

/// Always the same.
struct ConstantRate {
  float value = 0.001f;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// start * factor^(step / every), but not below the floor; with `in_stairs` the exponent is rounded
/// down. The factor is above 0 and at most 1.
struct ExponentialRate {
  float start = 0.001f, factor = 0.9f;
  std::uint64_t every = 1;
  float floor = 0;
  bool in_stairs = false;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// Half a cosine wave from the peak to the floor over `updates` updates, then the floor (Loshchilov
/// and Hutter 2017, equation 5): floor + (peak - floor) (1 + cos(pi step / updates))
/// / 2.
struct CosineRate {
  float peak = 0.001f;
  std::uint64_t updates = 1;
  float floor = 0;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// A straight line from the peak to the floor over `updates` updates, then the floor:
/// floor + (peak - floor) (1 - step / updates). To end with the run, behind a warm-up, it has the
/// rest of the updates: WarmUp{50, LinearRate{.peak = 2e-5f, .updates = all - 50}}.
struct LinearRate {
  float peak = 0.001f;
  std::uint64_t updates = 1;
  float floor = 0;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// peak * min(t / warm_up, sqrt(warm_up / t)) with t = step + 1: equation 3 of Vaswani et al.
/// (2017), whose peak is 1 / sqrt(d_model * warm_up).
struct InverseSquareRootRate {
  float peak = 0.001f;
  std::uint64_t warm_up = 4000;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// The functions that a type of schedules needs.
template <class T>
concept IsSchedule = requires(const T& schedule) {
  { schedule.rate(std::uint64_t{}) } -> std::convertible_to<float>;
  { schedule.description() } -> std::convertible_to<std::string>;
  schedule.check();
};

/// Any of these schedules, a CyclicalRate, a struct of your own, or a number. Throws what its
/// check() throws.
class Schedule {
 public:
  Schedule(float rate) : Schedule(ConstantRate{rate}) {}
  template <IsSchedule T>
  Schedule(const T& schedule)
      : rate_([schedule](std::uint64_t step) { return schedule.rate(step); }),
        description_(schedule.description()) {
    schedule.check();
  }
  Schedule(const CyclicalRate& cycle);
  // Moving copies, so that a moved-from object still has a rate.
  Schedule(const Schedule&) = default;
  Schedule& operator=(const Schedule&) = default;

  float rate(std::uint64_t step) const { return rate_(step); }
  const std::string& description() const { return description_; }
  void check() const {}

 private:
  std::function<float(std::uint64_t)> rate_;
  std::string description_;
};

/// A linear warm-up, then the schedule (Goyal et al. 2017, section 2.2): during the first `updates`
/// updates, the rate is (step + 1) / updates of the schedule's first rate.
struct WarmUp {
  std::uint64_t updates = 1;
  Schedule then;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// Whether the rate only rises in a run of so many steps, and would rise further: then a warm-up is
/// longer than the run.
bool rises_until(const Schedule& schedule, std::uint64_t steps);

/// Lowers the rate when the dev score stops improving: after more than `patience` epochs in a row
/// without a new best score, a scale is multiplied by `factor` (but not below `least`), and the
/// count of epochs restarts, as in PyTorch's ReduceLROnPlateau.
struct Plateau {
  float factor = 0.5f;
  unsigned patience = 0;
  float least = 0;

  struct State {
    float scale = 1;
    unsigned epochs_without_gain = 0;
  };

  /// The state after an epoch. `is_better`: it had the best score so far.
  State after_epoch(State before, bool is_better) const;
  std::string description() const;
  /// Throws UsageError unless 0 < factor < 1 and 0 <= least <= 1.
  void check() const;
};

}  // namespace dynet_like::nn

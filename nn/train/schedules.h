// Schedules: the learning rate as a function of the updates that were made.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <string>

#include "dynet_like/train/cyclical_rate.h"

namespace dynet_like::nn {

// Each of these is a small value with two functions. rate(step) is the rate of the update after
// `step` updates, from 0; description() has all constants, so that a checkpoint can tell schedules
// apart. check() throws UsageError unless rates are finite and not negative, and lengths positive.

/// Always the same.
struct ConstantRate {
  float value = 0.001f;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// start * factor^(step / every), but not below the floor; `in_stairs`, the exponent is rounded
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

/// Half a wave of a cosine from the peak to the floor in so many updates, and the floor after them
/// (Loshchilov and Hutter 2017, equation 5): floor + (peak - floor) (1 + cos(pi step / updates))
/// / 2.
struct CosineRate {
  float peak = 0.001f;
  std::uint64_t updates = 1;
  float floor = 0;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// With t = step + 1: peak * min(t / warm_up, sqrt(warm_up / t)). It is equation 3 of Vaswani et
/// al. (2017), whose peak is 1 / sqrt(d_model * warm_up).
struct InverseSquareRootRate {
  float peak = 0.001f;
  std::uint64_t warm_up = 4000;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// What a schedule is made of.
template <class T>
concept IsSchedule = requires(const T& schedule) {
  { schedule.rate(std::uint64_t{}) } -> std::convertible_to<float>;
  { schedule.description() } -> std::convertible_to<std::string>;
  schedule.check();
};

/// Any of them, a CyclicalRate, a struct of your own, or a plain number. Throws what its check()
/// throws.
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
  // To move is to copy: there is always a rate.
  Schedule(const Schedule&) = default;
  Schedule& operator=(const Schedule&) = default;

  float rate(std::uint64_t step) const { return rate_(step); }
  const std::string& description() const { return description_; }
  void check() const {}

 private:
  std::function<float(std::uint64_t)> rate_;
  std::string description_;
};

/// First a straight line up to the rate that the schedule begins with, (step + 1) / updates of it,
/// then the schedule (Goyal et al. 2017, section 2.2).
struct WarmUp {
  std::uint64_t updates = 1;
  Schedule then;

  float rate(std::uint64_t step) const;
  std::string description() const;
  void check() const;
};

/// A factor of the rate that shrinks where the dev score has stopped growing: after more than
/// `patience` epochs in a row that are not better than the best it is multiplied by `factor`, but
/// not below `least`, and epochs are counted anew (as PyTorch's ReduceLROnPlateau does).
struct Plateau {
  float factor = 0.5f;
  unsigned patience = 0;
  float least = 0;

  struct State {
    float scale = 1;
    unsigned epochs_without_gain = 0;
  };

  /// After an epoch that was better than all before it, or was not.
  State after_epoch(State before, bool is_better) const;
  std::string description() const;
  /// Throws UsageError unless 0 < factor < 1 and 0 <= least <= 1.
  void check() const;
};

}  // namespace dynet_like::nn

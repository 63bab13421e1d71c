// A learning rate that rises and falls.
#pragma once

#include <cstdint>
#include <string>

namespace dynet_like {

/// The triangular policies of Smith (2017), "Cyclical Learning Rates for Training Neural Networks":
/// from `rate_min` up to `rate_max` in `step_size` updates and back in as many. The height is
/// multiplied by `gamma` in every update.
struct CyclicalRate {
  float rate_min = 0.01f, rate_max = 0.1f, step_size = 2000, gamma = 1;
  std::uint64_t first = 0;  ///< Updates before the cycle begins, with rate_min.

  /// Throws UsageError unless the rates are finite, 0 <= rate_min <= rate_max, step_size > 0 and
  /// 0 <= gamma <= 1.
  void check() const;
  /// The rate after so many updates.
  float after(std::uint64_t updates) const;
  /// The constants, for the kind of a trainer's state.
  std::string description() const;
};

}  // namespace dynet_like

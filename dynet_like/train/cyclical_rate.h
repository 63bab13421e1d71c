// A learning rate that rises and falls.
#pragma once

#include <cstdint>
#include <string>

namespace dynet_like {

/// The triangular policies of Smith (2017), "Cyclical Learning Rates for Training Neural Networks":
/// the rate rises from `rate_min` to `rate_max` in `step_size` updates and falls back in as many.
/// Each update multiplies the height of the triangle by `gamma`.
struct CyclicalRate {
  float rate_min = 0.01f, rate_max = 0.1f, step_size = 2000, gamma = 1;
  std::uint64_t first = 0;  ///< Updates before the cycle begins; their rate is rate_min.

  /// Throws UsageError unless the rates are finite, 0 <= rate_min <= rate_max, step_size > 0 and
  /// 0 <= gamma <= 1.
  void check() const;
  /// The learning rate after so many updates.
  float after(std::uint64_t updates) const;
  /// The constants as text, which is part of the kind of a trainer's state.
  std::string description() const;
};

}  // namespace dynet_like

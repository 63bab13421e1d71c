// CyclicalRate: checks and the formula.
#include "dynet_like/train/cyclical_rate.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like {

void CyclicalRate::check() const {
  if (rate_min >= 0 && std::isfinite(rate_max) && rate_min <= rate_max &&
      std::isfinite(step_size) && step_size > 0 && gamma >= 0 && gamma <= 1) {
    return;
  }
  throw UsageError(fmt::format(
      "[CyclicalRate] need finite rates with 0 <= rate_min <= rate_max, step_size > 0 and "
      "0 <= gamma <= 1; got {}, {}, {}, {}",
      rate_min, rate_max, step_size, gamma));
}

float CyclicalRate::after(std::uint64_t updates) const {
  const double low = static_cast<double>(rate_min), high = static_cast<double>(rate_max);
  const double n = static_cast<double>(updates - std::min(updates, first)),
               steps = n / static_cast<double>(step_size);
  const double cycle = std::floor(1 + steps / 2);
  const double height = std::max(0.0, 1 - std::abs(steps - 2 * cycle + 1));
  return static_cast<float>(low + (high - low) * height * std::pow(static_cast<double>(gamma), n));
}

std::string CyclicalRate::description() const {
  return fmt::format("CyclicalRate(rate_min={}, rate_max={}, step_size={}, gamma={}{})", rate_min,
                     rate_max, step_size, gamma,
                     first == 0 ? "" : fmt::format(", first={}", first));
}

}  // namespace dynet_like

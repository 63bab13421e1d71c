// Schedules: their formulas, in double.
#include "nn/train/schedules.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

namespace {

double real(float number) { return static_cast<double>(number); }
double real(std::uint64_t number) { return static_cast<double>(number); }

bool is_rate(float rate) { return std::isfinite(rate) && rate >= 0; }

void need(bool condition, const char* rule, const std::string& got) {
  if (!condition) throw UsageError(fmt::format("[Schedule] need {}; got {}", rule, got));
}

// Of a schedule from a peak to a floor.
template <class Fall>
void check_fall(const Fall& fall) {
  need(is_rate(fall.peak) && is_rate(fall.floor) && fall.updates > 0,
       "finite rates from 0 and updates > 0", fall.description());
}

}  // namespace

float ConstantRate::rate(std::uint64_t) const { return value; }
std::string ConstantRate::description() const { return fmt::format("ConstantRate({})", value); }
void ConstantRate::check() const { need(is_rate(value), "a finite rate from 0", description()); }

float ExponentialRate::rate(std::uint64_t step) const {
  const double times = in_stairs ? real(step / every) : real(step) / real(every);
  return std::max(floor, static_cast<float>(real(start) * std::pow(real(factor), times)));
}
std::string ExponentialRate::description() const {
  return fmt::format("ExponentialRate(start={}, factor={}, every={}, floor={}{})", start, factor,
                     every, floor, in_stairs ? ", in_stairs" : "");
}
void ExponentialRate::check() const {
  need(is_rate(start) && is_rate(floor) && factor > 0 && factor <= 1 && every > 0,
       "finite rates from 0, 0 < factor <= 1 and every > 0", description());
}

float CosineRate::rate(std::uint64_t step) const {
  if (step >= updates) return floor;
  const double wave = (1 + std::cos(std::numbers::pi * real(step) / real(updates))) / 2;
  return static_cast<float>(real(floor) + (real(peak) - real(floor)) * wave);
}
std::string CosineRate::description() const {
  return fmt::format("CosineRate(peak={}, updates={}, floor={})", peak, updates, floor);
}
void CosineRate::check() const { check_fall(*this); }

float LinearRate::rate(std::uint64_t step) const {
  if (step >= updates) return floor;
  return static_cast<float>(real(floor) +
                            (real(peak) - real(floor)) * (1 - real(step) / real(updates)));
}
std::string LinearRate::description() const {
  return fmt::format("LinearRate(peak={}, updates={}, floor={})", peak, updates, floor);
}
void LinearRate::check() const { check_fall(*this); }

float InverseSquareRootRate::rate(std::uint64_t step) const {
  const double t = real(step) + 1, n = real(warm_up);
  return static_cast<float>(real(peak) * std::min(t / n, std::sqrt(n / t)));
}
std::string InverseSquareRootRate::description() const {
  return fmt::format("InverseSquareRootRate(peak={}, warm_up={})", peak, warm_up);
}
void InverseSquareRootRate::check() const {
  need(is_rate(peak) && warm_up > 0, "a finite rate from 0 and warm_up > 0", description());
}

Schedule::Schedule(const CyclicalRate& cycle)
    : rate_([cycle](std::uint64_t step) { return cycle.after(step); }),
      description_(cycle.description()) {
  cycle.check();
}

float WarmUp::rate(std::uint64_t step) const {
  if (step >= updates) return then.rate(step - updates);
  return static_cast<float>(real(then.rate(0)) * (real(step) + 1) / real(updates));
}
std::string WarmUp::description() const {
  return fmt::format("WarmUp(updates={}, then {})", updates, then.description());
}
void WarmUp::check() const { need(updates > 0, "updates > 0", description()); }

// Of a long run, looks at about a thousand steps.
bool rises_until(const Schedule& schedule, std::uint64_t steps) {
  constexpr std::uint64_t kMostLooks = 1000;
  if (steps == 0 || !(schedule.rate(steps) > schedule.rate(steps - 1))) return false;
  const std::uint64_t stride = steps / kMostLooks + 1;
  for (std::uint64_t step = stride; step < steps; step += stride) {
    if (!(schedule.rate(step) > schedule.rate(step - stride))) return false;
  }
  return true;
}

Plateau::State Plateau::after_epoch(State before, bool is_better) const {
  if (is_better) return {before.scale, 0};
  if (before.epochs_without_gain < patience) return {before.scale, before.epochs_without_gain + 1};
  return {std::max(least, before.scale * factor), 0};
}
std::string Plateau::description() const {
  return fmt::format("Plateau(factor={}, patience={}, least={})", factor, patience, least);
}
void Plateau::check() const {
  need(factor > 0 && factor < 1 && least >= 0 && least <= 1, "0 < factor < 1 and 0 <= least <= 1",
       description());
}

}  // namespace dynet_like::nn

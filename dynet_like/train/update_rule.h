// The formula of a trainer: how it changes an element, and what it remembers of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/device/updates.h"

namespace dynet_like::detail {

/// A formula for the elements of a parameter, in the parameter's own type. Trainers and rows that
/// have to catch up share a rule, so it never changes.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  /// The trainer and its constants, such as "MomentumSGDTrainer(momentum=0.9)".
  virtual std::string description() const = 0;
  /// Names of the numbers kept per element, at most kMaxMoments; they begin as zeros.
  virtual std::vector<std::string> moments() const = 0;
  /// The learning rate of an update. Updates are counted from 1.
  virtual double rate(double learning_rate, std::uint64_t /*update*/) const {
    return learning_rate;
  }
  /// Whether the weight decay is multiplied by the learning rate, and decays the values as they
  /// were before the update.
  virtual bool decay_follows_rate() const { return false; }
  /// Makes one update of stretches, and multiplies them by `step.keep`. `updates` must be of the
  /// elements' device. For tables with exact updates, a zero gradient with zero moments must change
  /// nothing, not even the sign of a zero.
  virtual void apply(const Updates& updates, std::span<const Elements> all, Step step) const = 0;

  /// Whether the rule keeps moments of squares of gradients, which must be finite.
  virtual bool squares_gradients() const { return false; }

  /// Whether `updates` compute the whole rule. Otherwise an update waits for the check of its
  /// gradients.
  virtual bool runs_on_device() const { return true; }

  /// Whether a zero gradient changes values or moments that are not zero.
  virtual bool acts_without_gradient() const { return !moments().empty(); }
};

}  // namespace dynet_like::detail

// The formula of a trainer: what it does to an element, and what it remembers of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "dynet_like/device/updates.h"

namespace dynet_like::detail {

/// A formula for the elements of a parameter, in the parameter's own type. A rule never changes
/// while rows may have to catch up with it, so that trainers and these rows can share it.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  /// The trainer and its constants, such as "MomentumSGDTrainer(momentum=0.9)".
  virtual std::string description() const = 0;
  /// Names of the numbers kept per element, at most kMaxMoments; they begin as zeros.
  virtual std::vector<std::string> moments() const = 0;
  /// The rate of an update; they are counted from 1.
  virtual double rate(double learning_rate, std::uint64_t /*update*/) const {
    return learning_rate;
  }
  /// Whether the weight decay is multiplied by the learning rate, and is one of the values before
  /// the update.
  virtual bool decay_follows_rate() const { return false; }
  /// One update of stretches, and the multiplication by `step.keep`. With zero moments a zero
  /// gradient must change nothing, not even the sign of a zero, if tables are updated in exact
  /// mode. `updates` are those of the elements' device.
  virtual void apply(const Updates& updates, std::span<const Elements> all, Step step) const = 0;

  /// Whether moments have squares of gradients, which must be finite.
  virtual bool squares_gradients() const { return false; }

  /// Whether `updates` do all of it. Otherwise an update waits for the check of its gradients.
  virtual bool runs_on_device() const { return true; }

  /// Whether a zero gradient changes values or moments that are not zero.
  virtual bool acts_without_gradient() const { return !moments().empty(); }
};

}  // namespace dynet_like::detail

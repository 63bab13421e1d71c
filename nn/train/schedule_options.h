// ScheduleOptions: how the learning rate and the groups of parameters change in a run.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "nn/train/group_schedule.h"
#include "nn/train/schedules.h"

namespace dynet_like::nn {

struct ScheduleOptions {
  /// Sets the trainer's learning rate by update, or by epoch if `by_epoch`. Without a schedule the
  /// run does not change the rate.
  std::optional<Schedule> rate = {};
  bool by_epoch = false;
  /// Lowers the rate of the schedule, or the trainer's initial rate, when the dev score stops
  /// improving.
  std::optional<Plateau> plateau = {};
  /// The trainer's groups by epoch; if empty, the run does not change them. Frozen parameters cost
  /// no backward pass in graphs that are recorded meanwhile.
  std::vector<GroupsFrom> groups = {};

  /// Throws UsageError for a rate out of range.
  void check() const;
};

}  // namespace dynet_like::nn

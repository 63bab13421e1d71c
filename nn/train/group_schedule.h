// Groups of parameters that change from epoch to epoch, such as for what is frozen at first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dynet_like/params/parameter_collection.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like::nn {

/// The groups of a trainer from an epoch on; the first one is 1.
struct GroupsFrom {
  unsigned epoch = 1;
  std::vector<ParameterGroup> groups = {};
};

/// Gives a trainer its groups, as a function of the epoch. What they freeze is read as a constant
/// by graphs that are recorded meanwhile: no backward pass is made for it.
class GroupSchedule {
 public:
  /// The trainer must outlive it. Throws UsageError unless every stage begins after the one before
  /// it, groups are such that Trainer::set_groups takes them, and the trainer has none of its own.
  GroupSchedule(const ParameterCollection& model, Trainer& trainer, std::vector<GroupsFrom> stages);
  /// Leaves the trainer without groups.
  ~GroupSchedule();
  GroupSchedule(const GroupSchedule&) = delete;
  GroupSchedule& operator=(const GroupSchedule&) = delete;

  /// From now on groups are those of this epoch: none before the first stage.
  void begin_epoch(unsigned epoch);
  /// From now on graphs have gradients of all parameters.
  void thaw();
  /// "none" without stages.
  std::string description() const;

 private:
  ParameterCollection model_;
  Trainer& trainer_;
  std::vector<GroupsFrom> stages_;
  std::vector<std::shared_ptr<ParameterStorage>> frozen_;
};

}  // namespace dynet_like::nn

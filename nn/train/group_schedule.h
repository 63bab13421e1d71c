// GroupSchedule: changes a trainer's parameter groups by epoch, for example to freeze parameters at
// first.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "dynet_like/params/parameter_collection.h"
#include "dynet_like/train/trainer.h"

namespace dynet_like::nn {

/// The groups of a trainer from this epoch on; epochs count from 1.
struct GroupsFrom {
  unsigned epoch = 1;
  std::vector<ParameterGroup> groups = {};
};

/// Sets a trainer's groups by epoch. Graphs that are recorded meanwhile treat frozen parameters as
/// constants, with no backward pass for them.
class GroupSchedule {
 public:
  /// The trainer must outlive it. Throws UsageError unless every stage begins after the one before
  /// it, Trainer::set_groups accepts the groups, and the trainer has no groups yet.
  GroupSchedule(const ParameterCollection& model, Trainer& trainer, std::vector<GroupsFrom> stages);
  /// Removes the groups from the trainer.
  ~GroupSchedule();
  GroupSchedule(const GroupSchedule&) = delete;
  GroupSchedule& operator=(const GroupSchedule&) = delete;

  /// Sets the groups of this epoch: none before the first stage.
  void begin_epoch(unsigned epoch);
  /// Unfreezes all parameters: graphs compute gradients of all of them.
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

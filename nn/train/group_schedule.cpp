// GroupSchedule: stages, and the frozen parameters of each.
#include "nn/train/group_schedule.h"

#include <new>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"

namespace dynet_like::nn {

GroupSchedule::GroupSchedule(const ParameterCollection& model, Trainer& trainer,
                             std::vector<GroupsFrom> stages)
    : model_(model), trainer_(trainer), stages_(std::move(stages)) {
  if (stages_.empty()) return;
  if (!trainer.groups().empty()) {
    throw UsageError(
        "[GroupSchedule] need a trainer without groups of its own; got one with some: put them "
        "into the schedule");
  }
  unsigned before = 0;
  for (const GroupsFrom& stage : stages_) {
    if (stage.epoch <= before) {
      throw UsageError(fmt::format(
          "[GroupSchedule] need stages that begin at epoch 1 or later, each after the one before "
          "it; got {} after {}",
          stage.epoch, before));
    }
    before = stage.epoch;
    const ParameterGroups check(stage.groups, model.storages());
  }
}

GroupSchedule::~GroupSchedule() {
  thaw();
  if (stages_.empty()) return;
  try {
    trainer_.set_groups({});
  } catch (const std::bad_alloc&) {  // then the last groups stay
  }
}

void GroupSchedule::begin_epoch(unsigned epoch) {
  if (stages_.empty()) return;
  std::vector<ParameterGroup> groups;
  for (const GroupsFrom& stage : stages_) {
    if (stage.epoch <= epoch) groups = stage.groups;
  }
  const auto storages = model_.storages();
  const ParameterGroups found(groups, storages);
  std::vector<std::shared_ptr<ParameterStorage>> frozen;
  for (const auto& parameter : storages) {
    if (found.settings_of(*parameter).frozen) frozen.push_back(parameter);
  }
  trainer_.set_groups(std::move(groups));
  thaw();
  frozen_ = std::move(frozen);
  for (const auto& parameter : frozen_) parameter->frozen = true;
}

void GroupSchedule::thaw() {
  for (const auto& parameter : frozen_) parameter->frozen = false;
  frozen_.clear();
}

std::string GroupSchedule::description() const {
  std::string text;
  for (const auto& [epoch, groups] : stages_) {
    const std::string all = ParameterGroups(groups, model_.storages()).description();
    text += fmt::format("{}from epoch {}: {}", text.empty() ? "" : "; ", epoch,
                        all.empty() ? "none" : all);
  }
  return text.empty() ? "none" : text;
}

}  // namespace dynet_like::nn

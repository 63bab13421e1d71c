// Groups of parameters, chosen by their names, for which a trainer has other settings.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dynet_like/params/parameter.h"

namespace dynet_like {

/// Settings for the parameters whose full names, such as "/lstm/b", match a pattern. A setting that
/// is not given comes from earlier groups, or from the trainer.
struct ParameterGroup {
  std::string pattern = {};                ///< '*' stands for any characters, '/' too; '?' for one.
  std::optional<float> rate = {};          ///< A factor of the trainer's learning rate.
  std::optional<float> weight_decay = {};  ///< Replaces the trainer's.
  std::optional<bool> frozen = {};         ///< Whether the trainer leaves them unchanged.

  /// Throws UsageError unless 0 <= rate and 0 <= weight_decay < 1.
  void check() const;
};

/// Whether the pattern matches the whole name.
bool matches(std::string_view pattern, std::string_view name);

/// The settings of a parameter: each comes from the last group that gives it and whose pattern
/// matches the name.
struct GroupSettings {
  float rate = 1;
  std::optional<float> weight_decay = {};
  bool frozen = false;
  bool operator==(const GroupSettings&) const = default;
  bool updates(const ParameterStorage& parameter) const { return parameter.updated && !frozen; }
};

/// Groups of parameters, and the settings that follow for the parameters of one collection.
class ParameterGroups {
 public:
  ParameterGroups() = default;
  /// Throws UsageError if check() refuses a group, or a group matches none of these parameters.
  ParameterGroups(std::vector<ParameterGroup> groups,
                  std::span<const std::shared_ptr<ParameterStorage>> parameters);

  GroupSettings settings_of(const ParameterStorage& parameter) const;
  const std::vector<ParameterGroup>& all() const { return groups_; }
  /// The collection's parameters that are to be updated, as they and their groups say. Each
  /// parameter is looked up once; new parameters must come behind those of earlier calls.
  std::vector<std::shared_ptr<ParameterStorage>> updated(
      std::span<const std::shared_ptr<ParameterStorage>> parameters);
  /// The different settings that parameters of these calls have.
  std::span<const GroupSettings> settings() const { return settings_; }
  std::size_t place_of(std::size_t parameter) const { return places_[parameter]; }
  /// Patterns and settings as text, which is part of the kind of a trainer's state; empty without
  /// groups.
  std::string description() const;

 private:
  std::vector<ParameterGroup> groups_;
  std::vector<GroupSettings> settings_{GroupSettings()};
  std::vector<std::size_t> places_;  // by parameter, its index in settings_
};

}  // namespace dynet_like

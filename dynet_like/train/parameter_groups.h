// Groups of parameters that a trainer treats in their own way, chosen by their names.
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

/// How a trainer updates the parameters whose full names, such as "/lstm/b", match a pattern. What
/// is not given is left to groups before it, and to the trainer.
struct ParameterGroup {
  std::string pattern = {};        ///< '*' stands for any characters, '/' too, and '?' for one.
  std::optional<float> rate = {};  ///< A factor of the trainer's learning rate.
  std::optional<float> weight_decay = {};  ///< In the place of the trainer's.
  std::optional<bool> frozen = {};         ///< Whether the trainer leaves them alone.

  /// Throws UsageError unless 0 <= rate and 0 <= weight_decay < 1.
  void check() const;
};

/// Whether a name matches a pattern as a whole.
bool matches(std::string_view pattern, std::string_view name);

/// What groups make of a parameter: each setting is that of the last group that gives it and whose
/// pattern the parameter's name matches.
struct GroupSettings {
  float rate = 1;
  std::optional<float> weight_decay = {};
  bool frozen = false;
  bool operator==(const GroupSettings&) const = default;
  bool updates(const ParameterStorage& parameter) const { return parameter.updated && !frozen; }
};

/// Groups of parameters, and what they make of those of one collection.
class ParameterGroups {
 public:
  ParameterGroups() = default;
  /// Throws UsageError if a group is refused by its check(), or matches none of these parameters.
  ParameterGroups(std::vector<ParameterGroup> groups,
                  std::span<const std::shared_ptr<ParameterStorage>> parameters);

  GroupSettings settings_of(const ParameterStorage& parameter) const;
  const std::vector<ParameterGroup>& all() const { return groups_; }
  /// Those of a collection's parameters that are to be updated, as they and their groups say. Each
  /// is looked up once: new ones come behind those of the calls before.
  std::vector<std::shared_ptr<ParameterStorage>> updated(
      std::span<const std::shared_ptr<ParameterStorage>> parameters);
  /// Of the parameters of these calls: the settings that differ, and which of them one has.
  std::span<const GroupSettings> settings() const { return settings_; }
  std::size_t place_of(std::size_t parameter) const { return places_[parameter]; }
  /// Patterns and what is done, for the kind of a trainer's state; empty without groups.
  std::string description() const;

 private:
  std::vector<ParameterGroup> groups_;
  std::vector<GroupSettings> settings_{GroupSettings()};
  std::vector<std::size_t> places_;  // by parameter, into these
};

}  // namespace dynet_like

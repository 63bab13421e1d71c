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

/// How a trainer updates the parameters whose full names, such as "/lstm/b", match a pattern.
struct ParameterGroup {
  std::string pattern = {};  ///< '*' stands for any characters, '/' too, and '?' for one.
  float rate = 1;            ///< A factor of the trainer's learning rate.
  std::optional<float> weight_decay = {};  ///< In the place of the trainer's.
  bool frozen = false;                     ///< The trainer leaves them alone.

  /// Throws UsageError unless 0 <= rate and 0 <= weight_decay < 1.
  void check() const;
};

/// Whether a name matches a pattern as a whole.
bool matches(std::string_view pattern, std::string_view name);

/// Parameters in groups: each belongs to the last group whose pattern its name matches.
class ParameterGroups {
 public:
  ParameterGroups() = default;
  /// Throws UsageError if a group is refused by its check(), or matches none of these parameters.
  ParameterGroups(std::vector<ParameterGroup> groups,
                  std::span<const std::shared_ptr<ParameterStorage>> parameters);

  /// The number of a parameter's group, from 1; 0: none.
  std::size_t number_of(const ParameterStorage& parameter) const;
  const std::vector<ParameterGroup>& all() const { return groups_; }
  /// Patterns and what is done, for the kind of a trainer's state; empty without groups.
  std::string description() const;

 private:
  std::vector<ParameterGroup> groups_;
};

}  // namespace dynet_like

// ParameterGroups: matches patterns with names of parameters.
#include "dynet_like/train/parameter_groups.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "dynet_like/core/errors.h"
#include "dynet_like/core/nearest_names.h"

namespace dynet_like {

using namespace detail;

namespace {

// Suggests names that are near the pattern without its stars.
std::string nearest_text(std::string pattern,
                         std::span<const std::shared_ptr<ParameterStorage>> parameters) {
  if (parameters.empty()) return " for no parameters";
  std::erase(pattern, '*');
  std::vector<std::string_view> names;
  for (const auto& parameter : parameters) names.push_back(parameter->name);
  return nearest_names_text(pattern, names);
}

}  // namespace

void ParameterGroup::check() const {
  const float factor = rate.value_or(1), decay = weight_decay.value_or(0);
  if (std::isfinite(factor) && factor >= 0 && decay >= 0 && decay < 1) return;
  throw UsageError(
      fmt::format("[ParameterGroup] need a finite rate from 0 and a weight decay from 0 to below "
                  "1; got {} and {} for \"{}\"",
                  factor, decay, pattern));
}

// Without recursion: on a mismatch, the last '*' takes one more character.
bool matches(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, taken = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      taken = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++taken;
    } else {
      return false;
    }
  }
  return pattern.substr(p).find_first_not_of('*') == std::string_view::npos;
}

ParameterGroups::ParameterGroups(std::vector<ParameterGroup> groups,
                                 std::span<const std::shared_ptr<ParameterStorage>> parameters)
    : groups_(std::move(groups)) {
  for (const ParameterGroup& group : groups_) {
    group.check();
    const bool is_used = std::any_of(parameters.begin(), parameters.end(), [&](const auto& one) {
      return matches(group.pattern, one->name);
    });
    if (is_used) continue;
    throw UsageError(
        fmt::format("[ParameterGroup] need a pattern that matches a parameter; got \"{}\"{}",
                    group.pattern, nearest_text(group.pattern, parameters)));
  }
}

std::vector<std::shared_ptr<ParameterStorage>> ParameterGroups::updated(
    std::span<const std::shared_ptr<ParameterStorage>> parameters) {
  std::vector<std::shared_ptr<ParameterStorage>> updated;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (i == places_.size()) {
      const GroupSettings settings = settings_of(*parameters[i]);
      const auto found = std::find(settings_.begin(), settings_.end(), settings);
      const auto place = static_cast<std::size_t>(found - settings_.begin());
      if (found == settings_.end()) settings_.push_back(settings);
      places_.push_back(place);
    }
    if (settings_[places_[i]].updates(*parameters[i])) updated.push_back(parameters[i]);
  }
  return updated;
}

GroupSettings ParameterGroups::settings_of(const ParameterStorage& parameter) const {
  GroupSettings settings;
  for (const ParameterGroup& group : groups_) {
    if (!matches(group.pattern, parameter.name)) continue;
    if (group.rate) settings.rate = *group.rate;
    if (group.weight_decay) settings.weight_decay = group.weight_decay;
    if (group.frozen) settings.frozen = *group.frozen;
  }
  return settings;
}

std::string ParameterGroups::description() const {
  std::string text;
  for (const ParameterGroup& group : groups_) {
    std::vector<std::string> given;
    if (group.rate) given.push_back(fmt::format("rate {}", *group.rate));
    if (group.weight_decay) given.push_back(fmt::format("weight decay {}", *group.weight_decay));
    if (group.frozen) given.push_back(*group.frozen ? "frozen" : "not frozen");
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : "; ", group.pattern,
                        given.empty() ? "nothing" : fmt::to_string(fmt::join(given, ", ")));
  }
  return text;
}

}  // namespace dynet_like
